import { type Caller, find } from '../agents/authenticate.ts';
import { refuseOtherChannels } from '../agents/channels.ts';
import { keepCard } from '../cards/keep-card.ts';
import type { Deps } from '../deps.ts';
import type { GroundOrder } from '../dialects/common-ground/decode.ts';
import { inHeaders } from '../dialects/common-ground/headers.ts';
import { subjectText, VERSION } from '../dialects/common-ground/subject.ts';
import { ParleyError } from '../errors.ts';
import { PARLEY } from '../inbox/delivery.ts';
import { fingerprint } from '../json/fingerprint.ts';
import { is } from '../ports/conditions.ts';
import type { Item, RecordChange, Ref } from '../ports/records.ts';
import type { Effect } from '../tasks/effects.ts';
import { childNamed, childOf, type Trace } from '../trace.ts';
import { enqueue } from './enqueue.ts';
import { headRef, stateOf } from './head.ts';

type Order = Extract<GroundOrder, { do: 'act' }>;

/** The kind of worker that runs what a user does in an interface. */
const UI_WORKER = 'ui_worker';

/** What a user did in an interface, once for each action id. */
export interface UiAction extends Item {
  sk: 'uiaction';
  project: string;
  id: string;
  messageId?: string;
  agent: string;
  tool: string;
  channel: string;
  createdAt: number;
  fingerprint: string;
  /** At first accepted, busy or rejected; then, for what was accepted, how it ended. */
  status: string;
  /** The turn that does it. */
  turn?: string;
  card?: string;
  error?: string;
  errorCode?: string;
  traceparent: string;
  tracestate?: string;
}

export const uiActionRef = (project: string, id: string): Ref<UiAction> => ({
  pk: `${project}#uiaction#${id}`,
  sk: 'uiaction',
});
export const isUiAction = (item: Item): item is UiAction => item.sk === 'uiaction';

/** Begins what the user wants as a turn of the interface's agent; or says why not. It is acknowledged in any case. */
export const act = async (deps: Deps, caller: Caller, order: Order, trace: Trace): Promise<{ duplicate: boolean }> => {
  const { payload, subject, sent } = order;
  const { project } = caller;
  const id = payload.message_id ?? payload.action_id;
  const print = fingerprint(sent);
  const earlier = await deps.records.get(uiActionRef(project, id));
  if (earlier) return repeated(earlier, print);
  const refusal = await refusalOf(deps, caller, order);
  const now = deps.clock.now();
  const action = {
    ...uiActionRef(project, id),
    sk: 'uiaction' as const,
    project,
    id: payload.action_id,
    messageId: payload.message_id,
    agent: payload.agent_id,
    tool: payload.tool_name,
    channel: subject.channel,
    createdAt: now,
    fingerprint: print,
    ...childOf(trace),
    expires: now + deps.config.turns.keepMs,
  };
  if (!refusal) {
    const card = await keepCard(deps, project, payload.agent_id, 'tool.call', {
      tool_name: payload.tool_name,
      args: payload.args,
    });
    const { turn } = await enqueue(deps, caller, {
      agent: payload.agent_id,
      correlation: `ui:${id}`,
      mode: 'call',
      channel: subject.channel,
      depth: order.depth ?? 0,
      payload: { ui_action: { ...sent, args: undefined }, tool_call_card_id: card.id },
      trace,
      action: id,
    });
    return kept(deps, { ...action, status: 'accepted', turn }, print);
  }
  const { status, error, code } = refusal;
  return kept(deps, { ...action, status, error, errorCode: code }, print);
};

const kept = async (deps: Deps, action: Omit<UiAction, 'v' | 'token' | 'at'>, print: string) => {
  const made = await deps.records.create<UiAction>(action, deps.newId());
  if (made.outcome === 'written') return { duplicate: false };
  return made.current ? repeated(made.current, print) : { duplicate: false };
};

const repeated = (action: UiAction, print: string): { duplicate: boolean } => {
  if (action.fingerprint === print) return { duplicate: true };
  throw new ParleyError(
    'id_reused',
    `An earlier action with the id ${action.id} was another. Give a new one a new id.`,
  );
};

interface Refusal {
  status: 'busy' | 'rejected';
  code: string;
  error: string;
}

/** By default nothing is allowed: the agent must be an interface's, and the tool allowed there. */
const refusalOf = async (deps: Deps, caller: Caller, { payload, subject }: Order): Promise<Refusal | undefined> => {
  const { project } = caller;
  const known = await find(deps, project, payload.agent_id);
  if (known?.agent.workerTarget !== UI_WORKER) {
    return {
      status: 'rejected',
      code: 'not_a_ui_worker',
      error: `${payload.agent_id} is no agent of a user interface.`,
    };
  }
  if (caller.role === 'agent') refuseOtherChannels(caller.known.agent, subject.channel);
  const tool = await deps.directory.tool(project, payload.tool_name);
  if (!tool?.uiAllowed) {
    return { status: 'rejected', code: 'ui_not_allowed', error: `A user interface may not call ${payload.tool_name}.` };
  }
  const head = await deps.records.get(headRef(project, payload.agent_id));
  if (stateOf(head) === 'idle') return undefined;
  return { status: 'busy', code: 'agent_busy', error: `${payload.agent_id} is ${stateOf(head)}. Try again later.` };
};

/** The turn of an accepted action has ended, and so has the action. */
export const endAction = async (
  deps: Deps,
  project: string,
  id: string,
  end: { status: string; deliverable?: string; error?: string; errorCode?: string },
): Promise<void> => {
  const { status, deliverable: card, error, errorCode } = end;
  const set = { status: status === 'success' ? 'completed' : status, card, error, errorCode };
  await deps.records.update(uiActionRef(project, id), { if: is('status', 'accepted'), set }, deps.newId());
};

/** Each state of an action is acknowledged once. */
export const uiActionEffects = ({ before, after }: RecordChange<UiAction>): Effect[] => {
  if (!after || before?.status === after.status) return [];
  const { project, channel, status } = after;
  const type = 'evt.sys.ui.action_ack';
  const id = `uiaction/${after.pk}:${after.v}:${type}`;
  const subject = subjectText({
    version: VERSION,
    project,
    channel,
    category: 'evt',
    component: 'sys',
    target: 'ui',
    suffix: 'action_ack',
  });
  const payload = {
    action_id: after.id,
    agent_id: after.agent,
    status,
    message_id: after.messageId,
    tool_result_card_id: after.card,
    error_code: after.errorCode,
    error: after.error,
  };
  const headers = inHeaders({ ...childNamed(after, id), at: after.at, type, sender: PARLEY, depth: 0 });
  return [
    { kind: 'announce', event: { id, project, type, at: after.at, data: { subject, headers, payload, channel } } },
  ];
};
