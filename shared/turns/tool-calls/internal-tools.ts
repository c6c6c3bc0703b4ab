import { getRequiredCards } from '../../cards/put-card.ts';
import { parsePayload } from '../../dialects/codec-helpers.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent, type ParleyError } from '../../kernel/errors.ts';
import { isObject, type JsonObject } from '../../kernel/json/json.ts';
import { createChildSpan } from '../../kernel/trace.ts';
import type { CommandResult } from '../../model/command.ts';
import { loadContent } from '../../storage/content.ts';
import { protocolViolationError } from '../lifecycle/enqueue.ts';
import { createToolResultCard } from '../lifecycle/result-cards.ts';
import { type ToolCommand, type ValidatedCall, validateToolCall } from './call-tool.ts';
import {
  AskExpertArguments,
  createDelegatedTurn,
  createDetachedTurn,
  DelegateArguments,
  DelegateAsyncArguments,
  LaunchPrincipalArguments,
} from './delegate.ts';
import { createForkJoin, ForkJoinArguments } from './fork-join.ts';
import { retryOnAgentStateChange } from './guard.ts';
import { recordToolReport } from './record-report.ts';

/** Its errors become the result of the call. */
export const callInternalTool = (deps: Deps, caller: Caller, command: ToolCommand): Promise<CommandResult> =>
  retryOnAgentStateChange(() => startInternalTool(deps, caller, command));

const startInternalTool = async (deps: Deps, caller: Caller, command: ToolCommand): Promise<CommandResult> => {
  const checked = await validateToolCall(deps, caller, command);
  if (checked === 'answered') return { duplicate: true };
  let isPrepared = false;
  try {
    const prepare = findInternalTool(command);
    const begin = prepare(await loadCallArguments(deps, caller.project, command));
    isPrepared = true;
    return await begin(deps, caller, checked);
  } catch (error) {
    if (!isPermanent(error) || NOT_REPORTED_CODES.has(error.code)) throw error;
    // Over HTTP the worker gets the error; a worker on NATS has no response.
    if (!isPrepared && !isViaRelay(caller)) throw error;
    await reportCallFailure(deps, caller.project, checked, error);
    return { duplicate: false };
  }
};

/** The turn has ended, or something else executes the call. */
const NOT_REPORTED_CODES: ReadonlySet<string> = new Set(['stale_turn', 'id_reused']);

const isViaRelay = (caller: Caller): boolean => caller.role === 'agent' && caller.viaRelay === true;

type StartInternalTool = (deps: Deps, caller: Caller, checked: ValidatedCall) => Promise<CommandResult>;

type PrepareInternalTool = (args: JsonObject) => StartInternalTool;

const INTERNAL_TOOLS: Readonly<Record<string, PrepareInternalTool>> = {
  fork_join: (args) => {
    const wanted = parsePayload(ForkJoinArguments, args, 'The arguments of fork_join');
    return (deps, caller, checked) => createForkJoin(deps, caller, checked, wanted);
  },
  delegate: (args) => {
    const wanted = parsePayload(DelegateArguments, args, 'The arguments of delegate');
    return (deps, caller, checked) => createDelegatedTurn(deps, caller, checked, wanted);
  },
  delegate_async: (args) => {
    const wanted = parsePayload(DelegateAsyncArguments, args, 'The arguments of delegate_async');
    return (deps, caller, checked) => createDetachedTurn(deps, caller, checked, wanted);
  },
  launch_principal: (args) => {
    const { profile_name, instruction } = parsePayload(
      LaunchPrincipalArguments,
      args,
      'The arguments of launch_principal',
    );
    const wanted = { target_strategy: 'new', target_ref: profile_name, instruction } as const;
    return (deps, caller, checked) => createDetachedTurn(deps, caller, checked, wanted);
  },
  ask_expert: (args) => {
    const { expert_profile, question } = parsePayload(AskExpertArguments, args, 'The arguments of ask_expert');
    const wanted = { target_strategy: 'new', target_ref: expert_profile, instruction: question } as const;
    return (deps, caller, checked) => createDetachedTurn(deps, caller, checked, wanted);
  },
};

const findInternalTool = ({ action }: ToolCommand): PrepareInternalTool => {
  const name = action.slice('internal.'.length);
  const prepare = Object.hasOwn(INTERNAL_TOOLS, name) ? INTERNAL_TOOLS[name] : undefined;
  if (prepare) return prepare;
  const known = Object.keys(INTERNAL_TOOLS).join(', ');
  throw protocolViolationError('subject', `There is no internal tool ${name}. Known: ${known}.`);
};

/** `arguments` or `args` in the card of the call. */
const loadCallArguments = async (deps: Deps, project: string, { card: id }: ToolCommand): Promise<JsonObject> => {
  if (id === undefined) {
    throw protocolViolationError(
      'tool_call_card_id',
      'The card of the call is missing: its content has the arguments under "arguments".',
    );
  }
  const [card] = await getRequiredCards(deps, project, [id]);
  const content = card && (await loadContent(deps.blobs, project, card.content));
  const args = isObject(content) ? (content.arguments ?? content.args) : undefined;
  if (isArgumentsObject(args)) return args;
  throw protocolViolationError('tool_call_card_id', 'The content of the card of the call has no "arguments".');
};

const isArgumentsObject = (value: unknown): value is JsonObject => isObject(value);

const reportCallFailure = async (
  deps: Deps,
  project: string,
  { call, trace }: ValidatedCall,
  { code, message }: ParleyError,
): Promise<void> => {
  const { afterExecution } = call;
  const card = await createToolResultCard(deps, project, {
    status: 'failed',
    afterExecution,
    error: { code, message },
  });
  const report = { type: 'tool_result', status: 'failed', afterExecution, card } as const;
  await recordToolReport(deps, { ...call, project }, call.toolCall, call, { ...report, ...createChildSpan(trace) });
};
