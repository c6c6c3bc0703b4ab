import { putCard } from '../../cards/put-card.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import { type Caller, findAgent } from '../../identity/auth/authenticate.ts';
import { assertChannelAccess } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent, ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { assertSameRequest } from '../../kernel/same-request.ts';
import { createChildSpan, type Trace } from '../../kernel/trace.ts';
import { agentStateRef } from '../../model/agent-state.ts';
import type { Effect } from '../../model/effect.ts';
import type { UiAction } from '../../model/ui-action.ts';
import { equals, notExists, or } from '../../ports/conditions.ts';
import type { Item, Key, NewItem, RecordChange, Ref, TransactionWrite } from '../../ports/records.ts';
import { prepareEnqueue } from '../lifecycle/enqueue.ts';

export interface UiActionRequest
  extends Pick<UiAction, 'id' | 'messageId' | 'agent' | 'tool' | 'channel' | 'fingerprint'> {
  args: JsonObject;
  protocolVersion: string;
  depth: number;
  /** Everything but the arguments, for the agent. */
  description: JsonObject;
}

const UI_WORKER_TARGET = 'ui_worker';

const uiActionRef = (project: string, id: string): Ref<UiAction> => ({
  pk: `${project}#ui-action#${id}`,
  sk: 'ui-action',
});

/** Finds an action by message id. */
export interface UiMessageAlias extends Item {
  sk: 'ui-message';
  action: string;
}

const uiMessageAliasRef = (project: string, id: string): Ref<UiMessageAlias> => ({
  pk: `${project}#ui-message#${id}`,
  sk: 'ui-message',
});

/** Reserves the agent, also before the turn starts. */
const uiAgentSlotKey = (project: string, agent: string): Key => ({
  pk: `${project}#ui-agent-slot#${agent}`,
  sk: 'ui-agent-slot',
});

/** Starts a turn of the interface's agent, or rejects the action. Both are acknowledged. */
export const createUiAction = async (
  deps: Deps,
  caller: Caller,
  request: UiActionRequest,
  trace: Trace,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  const { id, messageId, agent, tool, channel, fingerprint } = request;
  const earlier = await findExistingAction(deps, project, id, messageId);
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
    tool,
    channel,
    protocolVersion: turnProtocol.resolveVersion(deps.config, request.protocolVersion),
    createdAt: now,
    fingerprint,
    ...createChildSpan(trace),
    expires,
  };
  const buildActionWrites = (more: Pick<UiAction, 'status' | 'turn' | 'error' | 'errorCode'>): TransactionWrite[] => [
    { kind: 'create', item: { ...action, ...more } },
    ...(messageId === undefined
      ? []
      : [{ kind: 'create' as const, item: { ...uiMessageAliasRef(project, messageId), action: id, expires } }]),
  ];
  const begun = await prepareActionTurn(deps, caller, request, trace);
  if ('errorCode' in begun) return writeAction(deps, action, buildActionWrites(begun));
  const record = buildActionWrites({ status: 'accepted', turn: begun.turn.id });
  const isIdle: TransactionWrite = {
    kind: 'check',
    key: agentStateRef(project, agent),
    if: or(notExists('state'), equals('state', 'idle')),
  };
  const slot: TransactionWrite = { kind: 'create', item: { ...uiAgentSlotKey(project, agent), action: id, expires } };
  const made = await deps.records.transact([...record, isIdle, slot, ...begun.writes], deps.newId());
  if (made.outcome === 'written') return { duplicate: false };
  const isBusy = made.at === record.length || made.at === record.length + 1;
  const busy = buildUiRejection('busy', 'agent_busy', `${agent} has something else to do. Try again later.`);
  return isBusy ? writeAction(deps, action, buildActionWrites(busy)) : resolveConcurrentAction(deps, action);
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

const writeAction = async (deps: Deps, action: Omit<NewItem<UiAction>, 'status'>, writes: TransactionWrite[]) => {
  const made = await deps.records.transact(writes, deps.newId());
  return made.outcome === 'written' ? { duplicate: false } : resolveConcurrentAction(deps, action);
};

/** A concurrent call was faster. */
const resolveConcurrentAction = async (
  deps: Deps,
  { project, id, messageId, fingerprint }: Omit<NewItem<UiAction>, 'status'>,
) => {
  const other = await findExistingAction(deps, project, id, messageId);
  if (other) return toDuplicateAction(other, fingerprint);
  throw new ParleyError('conflict', `The action ${id} was in the way of another. Try again.`);
};

const toDuplicateAction = (action: UiAction, fingerprint: string): { duplicate: boolean } => {
  assertSameRequest(action, fingerprint, `action with the id ${action.id}`);
  return { duplicate: true };
};

/** The turn, or the rejection. */
const prepareActionTurn = async (deps: Deps, caller: Caller, request: UiActionRequest, trace: Trace) => {
  const { project } = caller;
  const { id, agent, tool, args, channel, depth, description } = request;
  try {
    const permitted = await checkUiPermission(deps, caller, request);
    if ('errorCode' in permitted) return permitted;
    const content = {
      tool_name: tool,
      arguments: args,
      status: 'called',
      target_subject: permitted.targetSubject,
    };
    const card = await putCard(deps, project, agent, 'tool.call', content);
    const prepared = await prepareEnqueue(deps, caller, {
      agent,
      correlation: uuidFromSeed(['ui', id]),
      mode: 'call',
      channel,
      depth,
      payload: { ui_action: description, tool_call_card_id: card.id },
      trace,
      protocolVersion: request.protocolVersion,
      action: id,
    });
    if ('writes' in prepared) return prepared;
    return buildUiRejection('rejected', 'id_reused', `There is a turn for the action ${id} already.`);
  } catch (error) {
    if (!isPermanent(error)) throw error;
    return buildUiRejection('rejected', error.code, error.message);
  }
};

/** Allowed only for agents of an interface and tools that permit it. */
const checkUiPermission = async (deps: Deps, caller: Caller, { agent, tool: name, channel }: UiActionRequest) => {
  const { project } = caller;
  const registered = await findAgent(deps, project, agent);
  if (!registered) return buildUiRejection('rejected', 'agent_not_found', `No agent ${agent} is registered.`);
  if (registered.agent.workerTarget !== UI_WORKER_TARGET)
    return buildUiRejection('rejected', 'invalid_worker_target', `${agent} is no agent of a user interface.`);
  if (caller.role === 'agent') assertChannelAccess(caller.registered.agent, channel);
  const tool = await deps.directory.getTool(project, name);
  if (!tool) return buildUiRejection('rejected', 'tool_definition_missing', `No tool ${name} is registered.`);
  if (tool.uiAllowed) return tool;
  return buildUiRejection('rejected', 'ui_not_allowed', `A user interface may not call ${name}.`);
};

/** The agent is then free for the next action. */
export const completeUiAction = async (
  deps: Deps,
  project: string,
  id: string,
  end: { status: string; deliverable?: string; error?: string; errorCode?: string },
): Promise<void> => {
  const { deliverable: card, error } = end;
  const isDone = end.status === 'success' || end.status === 'partial';
  const status = isDone ? 'done' : 'rejected';
  const set = { status, card, error, errorCode: end.errorCode ?? (isDone ? undefined : end.status) };
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

/** One acknowledgement per status. */
export const computeUiActionEffects = ({ before, after }: RecordChange<UiAction>): Effect[] =>
  !after || before?.status === after.status ? [] : [{ kind: 'publish', event: turnProtocol.encodeUiAction(after) }];
