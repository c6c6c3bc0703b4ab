import type { Caller } from '../agents/authenticate.ts';
import { requireCards } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import type { GroundOrder } from '../dialects/common-ground/decode.ts';
import { inShape } from '../dialects/common-ground/schema.ts';
import { ParleyError } from '../errors.ts';
import { isObject, type JsonObject } from '../json/json.ts';
import type { Done } from '../messages/command.ts';
import { loaded } from '../tasks/content.ts';
import { childOf } from '../trace.ts';
import { type Checked, checkedCall } from './call-tool.ts';
import { toolResultOf } from './deliverable.ts';
import { violation } from './enqueue.ts';
import { Delegate, delegate, ForkJoin, forkJoin } from './fork-join.ts';
import { untilUnmoved } from './proviso.ts';
import { report } from './report.ts';

type Order = Extract<GroundOrder, { do: 'callTool' | 'callInternal' }>;

/** A tool that Parley itself is. What it cannot begin is told to the turn as the result of the call. */
export const callInternal = (deps: Deps, caller: Caller, order: Order): Promise<Done> =>
  untilUnmoved(() => begun(deps, caller, order));

const begun = async (deps: Deps, caller: Caller, order: Order): Promise<Done> => {
  const name = order.subject.suffix.slice('internal.'.length);
  if (name !== 'fork_join' && name !== 'delegate') {
    throw violation('subject', `There is no internal tool ${name}. Known: fork_join, delegate.`);
  }
  const checked = await checkedCall(deps, caller, order);
  if (checked === 'answered') return { duplicate: true };
  const args = await argsOf(deps, caller.project, order);
  const begin = name === 'fork_join' ? forkJoinWith(args) : delegateWith(args);
  try {
    return await begin(deps, caller, checked);
  } catch (error) {
    if (!(error instanceof ParleyError && error.retry === 'never') || NOT_ITS_RESULT.has(error.code)) throw error;
    await refuse(deps, caller.project, checked, error);
    return { duplicate: false };
  }
};

/** The turn has ended, or something else does the work of the call and goes on. */
const NOT_ITS_RESULT: ReadonlySet<string> = new Set(['stale_turn', 'id_reused']);

type Begin = (deps: Deps, caller: Caller, checked: Checked) => Promise<Done>;

const forkJoinWith = (args: JsonObject): Begin => {
  const wanted = inShape(ForkJoin, args, 'The arguments of fork_join');
  return (deps, caller, checked) => forkJoin(deps, caller, checked, wanted);
};

const delegateWith = (args: JsonObject): Begin => {
  const wanted = inShape(Delegate, args, 'The arguments of delegate');
  return (deps, caller, checked) => delegate(deps, caller, checked, wanted);
};

/** The arguments stand in the card of the call: `args` of its content. */
const argsOf = async (deps: Deps, project: string, { payload }: Order): Promise<JsonObject> => {
  if (payload.tool_call_card_id === undefined) {
    throw violation(
      'tool_call_card_id',
      'The card of the call is missing: its content has the arguments under "args".',
    );
  }
  const [card] = await requireCards(deps, project, [payload.tool_call_card_id]);
  const content = card && (await loaded(deps.blobs, project, card.content));
  const args = isObject(content) ? content.args : undefined;
  if (isArgs(args)) return args;
  throw violation('tool_call_card_id', 'The content of the card of the call has no "args".');
};

const isArgs = (value: unknown): value is JsonObject => isObject(value);

const refuse = async (
  deps: Deps,
  project: string,
  { call, trace }: Checked,
  { code, message }: ParleyError,
): Promise<void> => {
  const card = await toolResultOf(deps, project, call.toolCall, 'failed', { error: message, error_code: code });
  const said = { type: 'tool_result', status: 'failed', afterExecution: call.afterExecution, card } as const;
  await report(deps, { ...call, project }, call.toolCall, call, { ...said, ...childOf(trace) });
};
