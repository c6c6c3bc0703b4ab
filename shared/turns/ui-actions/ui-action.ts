import { putCard } from '../../cards/put-card.ts';
import type { CommonGroundCommand } from '../../dialects/common-ground/decode.ts';
import { buildHeaders } from '../../dialects/common-ground/headers.ts';
import { COMMON_GROUND_VERSION, formatSubject } from '../../dialects/common-ground/subject.ts';
import type { Effect } from '../../effects/effect.ts';
import { type Caller, findAgent } from '../../identity/auth/authenticate.ts';
import { assertChannelAccess } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent, ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';
import { createChildSpan, deriveChildSpan, type Trace } from '../../kernel/trace.ts';
import { equals, notExists, or } from '../../ports/conditions.ts';
import type { Item, Key, NewItem, RecordChange, Ref, TransactionWrite } from '../../ports/records.ts';
import { prepareEnqueue } from '../lifecycle/enqueue.ts';
import { agentStateRef } from '../model/agent-state.ts';

type UiActionCommand = Extract<CommonGroundCommand, { do: 'uiAction' }>;

/** The kind of worker that runs what a user does in an interface. */
const UI_WORKER_TARGET = 'ui_worker';

/** What a user did in an interface, once for each action id. */
export interface UiAction extends Item {
  sk: 'ui-action';
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

const uiActionRef = (project: string, id: string): Ref<UiAction> => ({
  pk: `${project}#ui-action#${id}`,
  sk: 'ui-action',
});

/** By the id of the message that asked for it, an action is found as well. */
export interface UiMessageAlias extends Item {
  sk: 'ui-message';
  action: string;
}

const uiMessageAliasRef = (project: string, id: string): Ref<UiMessageAlias> => ({
  pk: `${project}#ui-message#${id}`,
  sk: 'ui-message',
});

/** The action that an agent has been given. While it has one, it is busy, though it may not have begun. */
const uiAgentSlotKey = (project: string, agent: string): Key => ({
  pk: `${project}#ui-agent-slot#${agent}`,
  sk: 'ui-agent-slot',
});

/** Begins what the user wants as a turn of the interface's agent; or says why not. It is acknowledged in any case. */
export const createUiAction = async (
  deps: Deps,
  caller: Caller,
  order: UiActionCommand,
  trace: Trace,
): Promise<{ duplicate: boolean }> => {
  const { payload, subject, rawPayload } = order;
  const { project } = caller;
  const { action_id: id, message_id: messageId, agent_id: agent } = payload;
  const earlier = await findExistingAction(deps, project, id, messageId);
  const fingerprint = computeFingerprint({ ...rawPayload, message_id: undefined });
  if (earlier) return toDuplicateAction(earlier, fingerprint);
  const now = deps.clock.now();
  const expires = now + deps.config.turns.retentionMs;
  const action: Omit<NewItem<UiAction>, 'status'> = {
    ...uiActionRef(project, id),
    sk: 'ui-action',
    project,
    id,
    messageId,
    agent,
    tool: payload.tool_name,
    channel: subject.channel,
    createdAt: now,
    fingerprint,
    ...createChildSpan(trace),
    expires,
  };
  const auditEntry = (more: Pick<UiAction, 'status' | 'turn' | 'error' | 'errorCode'>): TransactionWrite[] => [
    { kind: 'create', item: { ...action, ...more } },
    ...(messageId === undefined
      ? []
      : [{ kind: 'create' as const, item: { ...uiMessageAliasRef(project, messageId), action: id, expires } }]),
  ];
  const begun = await prepareActionTurn(deps, caller, order, trace);
  if ('errorCode' in begun) return writeAction(deps, action, auditEntry(begun));
  const record = auditEntry({ status: 'accepted', turn: begun.turn.id });
  const isIdle: TransactionWrite = {
    kind: 'check',
    key: agentStateRef(project, agent),
    if: or(notExists('state'), equals('state', 'idle')),
  };
  const place: TransactionWrite = { kind: 'create', item: { ...uiAgentSlotKey(project, agent), action: id, expires } };
  const made = await deps.records.transact([...record, isIdle, place, ...begun.writes], deps.newId());
  if (made.outcome === 'written') return { duplicate: false };
  const isBusy = made.at === record.length || made.at === record.length + 1;
  const busy = buildUiRejection('busy', 'agent_busy', `${agent} has something else to do. Try again later.`);
  return isBusy ? writeAction(deps, action, auditEntry(busy)) : resolveConcurrentAction(deps, action);
};

const buildUiRejection = (status: 'busy' | 'rejected', errorCode: string, error: string) => ({
  status,
  errorCode,
  error,
});

const findExistingAction = async (
  { records }: Deps,
  project: string,
  id: string,
  messageId: string | undefined,
): Promise<UiAction | undefined> => {
  const named = messageId === undefined ? undefined : await records.get(uiMessageAliasRef(project, messageId));
  return records.get(uiActionRef(project, named?.action ?? id));
};

/** How it was answered is written once. */
const writeAction = async (deps: Deps, action: Omit<NewItem<UiAction>, 'status'>, writes: TransactionWrite[]) => {
  const made = await deps.records.transact(writes, deps.newId());
  return made.outcome === 'written' ? { duplicate: false } : resolveConcurrentAction(deps, action);
};

/** Somebody was faster with the same. */
const resolveConcurrentAction = async (
  deps: Deps,
  { project, id, messageId, fingerprint }: Omit<NewItem<UiAction>, 'status'>,
) => {
  const other = await findExistingAction(deps, project, id, messageId);
  if (other) return toDuplicateAction(other, fingerprint);
  throw new ParleyError('conflict', `The action ${id} was in the way of another. Try again.`);
};

const toDuplicateAction = (action: UiAction, fingerprint: string): { duplicate: boolean } => {
  if (action.fingerprint === fingerprint) return { duplicate: true };
  throw new ParleyError(
    'id_reused',
    `An earlier action with the id ${action.id} was another. Give a new one a new id.`,
  );
};

/** The turn that does it, or why there can be none. */
const prepareActionTurn = async (deps: Deps, caller: Caller, order: UiActionCommand, trace: Trace) => {
  const { payload, subject, rawPayload } = order;
  const { project } = caller;
  const { action_id: id, agent_id: agent } = payload;
  try {
    const forbidden = await checkUiPermission(deps, caller, order);
    if (forbidden) return forbidden;
    const { tool_name, args } = payload;
    const card = await putCard(deps, project, agent, 'tool.call', { tool_name, args });
    const prepared = await prepareEnqueue(deps, caller, {
      agent,
      correlation: uuidFromSeed(['ui', id]),
      mode: 'call',
      channel: subject.channel,
      depth: order.depth ?? 0,
      payload: { ui_action: { ...rawPayload, args: undefined }, tool_call_card_id: card.id },
      trace,
      action: id,
    });
    if ('writes' in prepared) return prepared;
    return buildUiRejection('rejected', 'id_reused', `There is a turn for the action ${id} already.`);
  } catch (error) {
    if (!isPermanent(error)) throw error;
    return buildUiRejection('rejected', error.code, error.message);
  }
};

/** By default nothing is allowed: the agent must be an interface's, and the tool allowed there. */
const checkUiPermission = async (deps: Deps, caller: Caller, { payload, subject }: UiActionCommand) => {
  const { project } = caller;
  const { agent_id: agent, tool_name: name } = payload;
  const known = await findAgent(deps, project, agent);
  if (known?.agent.workerTarget !== UI_WORKER_TARGET)
    return buildUiRejection('rejected', 'not_a_ui_worker', `${agent} is no agent of a user interface.`);
  if (caller.role === 'agent') assertChannelAccess(caller.registered.agent, subject.channel);
  const tool = await deps.directory.getTool(project, name);
  if (tool?.uiAllowed) return undefined;
  return buildUiRejection('rejected', 'ui_not_allowed', `A user interface may not call ${name}.`);
};

/** The turn of an accepted action has ended, and so has the action; its agent may be given the next. */
export const completeUiAction = async (
  deps: Deps,
  project: string,
  id: string,
  end: { status: string; deliverable?: string; error?: string; errorCode?: string },
): Promise<void> => {
  const { status, deliverable: card, error, errorCode } = end;
  const set = { status: status === 'success' ? 'completed' : status, card, error, errorCode };
  const action = await deps.records.get(uiActionRef(project, id));
  if (action?.status !== 'accepted') return;
  await deps.records.transact(
    [
      { kind: 'update', key: uiActionRef(project, id), change: { if: equals('status', 'accepted'), set } },
      { kind: 'remove', key: uiAgentSlotKey(project, action.agent), if: equals('action', id) },
    ],
    deps.newId(),
  );
};

/** Each state of an action is acknowledged once. */
export const computeUiActionEffects = ({ before, after }: RecordChange<UiAction>): Effect[] => {
  if (!after || before?.status === after.status) return [];
  const { project, channel, status } = after;
  const type = 'evt.sys.ui.action_ack';
  const id = `uiaction/${after.pk}:${after.v}:${type}`;
  const subject = formatSubject({
    version: COMMON_GROUND_VERSION,
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
  const headers = buildHeaders({ ...deriveChildSpan(after, id), at: after.at, type, sender: SYSTEM_SENDER, depth: 0 });
  return [
    { kind: 'publish', event: { id, project, type, at: after.at, data: { subject, headers, payload, channel } } },
  ];
};
