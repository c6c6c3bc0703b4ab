import { getRequiredCards } from '../../cards/put-card.ts';
import { parsePayload } from '../../dialects/parse-payload.ts';
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
import { createDelegatedTurn, createForkJoin, DelegateArguments, ForkJoinArguments } from './fork-join.ts';
import { retryOnAgentStateChange } from './guard.ts';
import { recordToolReport } from './record-report.ts';

/** A tool that Parley itself is. What it cannot begin is told to the turn as the result of the call. */
export const callInternalTool = (deps: Deps, caller: Caller, order: ToolCommand): Promise<CommandResult> =>
  retryOnAgentStateChange(() => startInternalTool(deps, caller, order));

const startInternalTool = async (deps: Deps, caller: Caller, order: ToolCommand): Promise<CommandResult> => {
  const name = order.action.slice('internal.'.length);
  if (name !== 'fork_join' && name !== 'delegate') {
    throw protocolViolationError('subject', `There is no internal tool ${name}. Known: fork_join, delegate.`);
  }
  const checked = await validateToolCall(deps, caller, order);
  if (checked === 'answered') return { duplicate: true };
  const args = await loadCallArguments(deps, caller.project, order);
  const begin = name === 'fork_join' ? prepareForkJoin(args) : prepareDelegate(args);
  try {
    return await begin(deps, caller, checked);
  } catch (error) {
    if (!isPermanent(error) || NOT_REPORTED_CODES.has(error.code)) throw error;
    await reportCallFailure(deps, caller.project, checked, error);
    return { duplicate: false };
  }
};

/** The turn has ended, or something else does the work of the call and goes on. */
const NOT_REPORTED_CODES: ReadonlySet<string> = new Set(['stale_turn', 'id_reused']);

type StartInternalTool = (deps: Deps, caller: Caller, checked: ValidatedCall) => Promise<CommandResult>;

const prepareForkJoin = (args: JsonObject): StartInternalTool => {
  const wanted = parsePayload(ForkJoinArguments, args, 'The arguments of fork_join');
  return (deps, caller, checked) => createForkJoin(deps, caller, checked, wanted);
};

const prepareDelegate = (args: JsonObject): StartInternalTool => {
  const wanted = parsePayload(DelegateArguments, args, 'The arguments of delegate');
  return (deps, caller, checked) => createDelegatedTurn(deps, caller, checked, wanted);
};

/** The arguments stand in the card of the call: `args` of its content. */
const loadCallArguments = async (deps: Deps, project: string, { card: id }: ToolCommand): Promise<JsonObject> => {
  if (id === undefined) {
    throw protocolViolationError(
      'tool_call_card_id',
      'The card of the call is missing: its content has the arguments under "args".',
    );
  }
  const [card] = await getRequiredCards(deps, project, [id]);
  const content = card && (await loadContent(deps.blobs, project, card.content));
  const args = isObject(content) ? content.args : undefined;
  if (isArgumentsObject(args)) return args;
  throw protocolViolationError('tool_call_card_id', 'The content of the card of the call has no "args".');
};

const isArgumentsObject = (value: unknown): value is JsonObject => isObject(value);

const reportCallFailure = async (
  deps: Deps,
  project: string,
  { call, trace }: ValidatedCall,
  { code, message }: ParleyError,
): Promise<void> => {
  const card = await createToolResultCard(deps, project, call.toolCall, 'failed', { error: message, error_code: code });
  const said = { type: 'tool_result', status: 'failed', afterExecution: call.afterExecution, card } as const;
  await recordToolReport(deps, { ...call, project }, call.toolCall, call, { ...said, ...createChildSpan(trace) });
};
