import { assertBoxExists } from '../../cards/box.ts';
import { getDialect } from '../../dialects/registry.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import { type Caller, findAgent, getCallerName } from '../../identity/auth/authenticate.ts';
import { assertChannelAccess, canUseChannel, isChannelMember } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { assertMaxSize, type JsonObject } from '../../kernel/json/json.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import { createChildSpan, findParentSpan, type Trace } from '../../kernel/trace.ts';
import { batchEndedError, batchRef } from '../../model/batch.ts';
import { buildCorrelationRecord, correlationRef } from '../../model/correlation.ts';
import type { BatchMembership } from '../../model/task.ts';
import type { ToolCall } from '../../model/tool-call.ts';
import { pickActiveTurn, type QueuedTurn, queuedTurnKey, type Turn, turnRef } from '../../model/turn.ts';
import { equals } from '../../ports/conditions.ts';
import type { NewItem, TransactionWrite } from '../../ports/records.ts';
import type { TransactionGuard } from '../../tasks/commands/create-task.ts';
import { toolCallIdReusedError } from '../tool-calls/guard.ts';
import { listGroupMembers } from './group-queues.ts';
import { createDeliverableCard } from './result-cards.ts';

export interface EnqueueRequest {
  /** If the caller must know it beforehand. */
  id?: string;
  /** An agent, or the capability of a group. */
  agent: string;
  correlation: string;
  mode: string;
  channel: string;
  /** Of the message, if there is one. */
  protocolVersion?: string;
  /** May be missing at the entry of a user: then that of the earlier call, or 0. Or the error of a wrong depth. */
  depth?: number | ParleyError;
  contextBox?: string;
  payload?: JsonObject;
  headers?: JsonObject;
  trace: Trace;
  /** If it is not the caller. */
  from?: string;
  /** Agents whose turns or tasks will wait, the nearest last. */
  callers?: string[];
  parent?: ToolCall;
  batchMembership?: BatchMembership;
  /** The UI action that it executes. */
  action?: string;
}

interface EnqueueResult {
  turn: string;
  inboxId: string;
  duplicate: boolean;
}

/** Idempotent by correlation id. A call that breaks a rule of the protocol becomes a failed turn. */
export const enqueueTurn = async (
  deps: Deps,
  caller: Caller,
  wanted: EnqueueRequest,
  guard?: TransactionGuard,
): Promise<EnqueueResult> => {
  const { project } = caller;
  const prepared = await prepareEnqueue(deps, caller, wanted);
  if ('duplicate' in prepared) return prepared;
  const { turn, writes } = prepared;
  const made = await deps.records.transact([...writes, ...(guard?.writes ?? [])], deps.newId());
  if (made.outcome === 'written') return { turn: turn.id, inboxId: turn.correlation, duplicate: false };
  if (wanted.batchMembership && made.at === 0) throw batchEndedError(wanted.batchMembership.batchId);
  const other = await deps.records.get(correlationRef(project, wanted.correlation, 'enqueue', 'request'));
  if (other && other.fingerprint === turn.fingerprint)
    return { turn: other.turn, inboxId: wanted.correlation, duplicate: true };
  if (guard) throw guard.toError(made.at - writes.length, made.existing);
  throw await createRejectedTurn(deps, turn, correlationIdReusedError(wanted.correlation));
};

/** The writes that enqueue the turn; or the turn of an earlier identical call. */
export const prepareEnqueue = async (
  deps: Deps,
  caller: Caller,
  wanted: EnqueueRequest,
): Promise<EnqueueResult | { turn: NewItem<Turn>; writes: TransactionWrite[] }> => {
  const { project } = caller;
  assertMaxSize('The payload', wanted.payload ?? {}, deps.config.limits.extensionBytes);
  if (!canUseChannel(caller, wanted.channel) && caller.role === 'agent')
    assertChannelAccess(caller.registered.agent, wanted.channel);
  const target = await resolveTurnTarget(deps, project, wanted.agent, wanted.channel);
  const from = wanted.from ?? getCallerName(caller);
  const earlier = await deps.records.get(correlationRef(project, wanted.correlation, 'enqueue', 'request'));
  // A repetition without a depth has that of the earlier call.
  const { trace: _trace, protocolVersion: _version, depth: givenDepth = earlier?.depth ?? 0, ...content } = wanted;
  const fingerprint = computeFingerprint({
    ...content,
    from,
    depth: givenDepth instanceof Error ? givenDepth.message : givenDepth,
  });
  if (earlier?.fingerprint === fingerprint) return { turn: earlier.turn, inboxId: wanted.correlation, duplicate: true };
  const depth = givenDepth instanceof Error ? 0 : givenDepth;
  const turn = buildTurn(deps, project, from, { ...wanted, depth }, target, fingerprint);
  // The earlier call continues, so it must not be reported as failed.
  if (earlier && wanted.parent) throw toolCallIdReusedError(wanted.parent.toolCall);
  const mistake = earlier
    ? correlationIdReusedError(wanted.correlation)
    : (checkCallLimits(deps, wanted, givenDepth) ?? (await checkCallCycle(deps, project, wanted, target)));
  if (mistake) throw await createRejectedTurn(deps, turn, mistake);
  await assertBoxExists(deps, project, wanted.contextBox);
  return { turn, writes: buildEnqueueWrites(turn) };
};

interface TurnTarget {
  isForGroup?: true;
  isRunAsTask?: true;
  /** Of its agent. */
  profile?: string;
}

/** The agent or group of a name, if it may use the channel. */
export const resolveTurnTarget = async (
  deps: Deps,
  project: string,
  name: string,
  channel: string,
): Promise<TurnTarget> => {
  const agent: Agent | undefined = (await findAgent(deps, project, name))?.agent;
  if (agent) {
    assertChannelAccess(agent, channel);
    return getDialect(agent.dialect).usesTurns ? { profile: agent.profile } : { isRunAsTask: true };
  }
  if ((await listGroupMembers(deps, project, name)).length > 0) return { isForGroup: true };
  throw new ParleyError(
    'unknown_agent',
    `No agent ${name.slice(0, 64)} is registered, nor has any agent that leases turns that capability, so that nobody would ever hear of it.`,
  );
};

const checkCallLimits = (
  { config }: Deps,
  { mode }: EnqueueRequest,
  depth: number | ParleyError,
): ParleyError | undefined => {
  if (mode !== 'call') {
    return protocolViolationError(
      'mode',
      `The mode ${mode.slice(0, 64)} is not supported: a turn is enqueued with the mode call.`,
    );
  }
  if (depth instanceof Error) return depth;
  const { maxRecursionDepth } = config.turns;
  if (depth < maxRecursionDepth) return undefined;
  return new ParleyError(
    'recursion_depth_exceeded',
    `The recursion depth is ${depth}; calls run up to ${maxRecursionDepth - 1}. The chain of calls ends here.`,
    { details: { recursion_depth: depth, max_recursion_depth: maxRecursionDepth } },
  );
};

/** An agent has one turn at a time: one that waits for another cannot work for it. */
const checkCallCycle = async (
  deps: Deps,
  project: string,
  { agent, channel, callers = [] }: EnqueueRequest,
  { isForGroup }: TurnTarget,
): Promise<ParleyError | undefined> => {
  if (callers.length === 0) return undefined;
  const able = isForGroup
    ? await listGroupMembers(deps, project, agent, (page) => page.filter((one) => isChannelMember(one, channel)))
    : [agent];
  if (able.length === 0 || !able.every((id) => callers.includes(id))) return undefined;
  const waits = `${able.join(', ')} would have to take a turn while its own waits for it: ${[...callers, agent].join(' → ')}.`;
  return protocolViolationError('target_ref', `${waits} Call another agent, or do the work in the turn itself.`);
};

const correlationIdReusedError = (correlation: string): ParleyError =>
  protocolViolationError(
    'correlation_id',
    `Another turn was enqueued under the correlation id ${correlation}. Repeat a call unchanged; give a new one a new id.`,
  );

export const protocolViolationError = (violated: string, message: string): ParleyError =>
  new ParleyError('protocol_violation', message, { details: { violated } });

const buildTurn = (
  deps: Deps,
  project: string,
  from: string,
  wanted: EnqueueRequest & { depth: number },
  { isForGroup, isRunAsTask, profile }: TurnTarget,
  fingerprint: string,
): NewItem<Turn> => {
  const now = deps.clock.now();
  const { agent, correlation, depth, channel, contextBox, payload, headers, callers, parent, batchMembership, action } =
    wanted;
  const id = wanted.id ?? `turn_${deps.newId()}`;
  return {
    ...turnRef(project, id),
    sk: 'turn',
    project,
    id,
    agent,
    isForGroup,
    correlation,
    depth,
    channel,
    from,
    createdAt: now,
    contextBox,
    payload,
    headers,
    ...createChildSpan(wanted.trace),
    parentSpan: deps.config.tracing.endpoint && findParentSpan(wanted.trace),
    fingerprint,
    callers,
    parent,
    batchMembership,
    action,
    isRunAsTask,
    protocolVersion: turnProtocol.resolveVersion(deps.config, wanted.protocolVersion, profile),
    state: 'queued',
    wakeupCount: 0,
    due: isRunAsTask ? undefined : now + deps.config.turns.wakeupMs,
  };
};

const buildEnqueueWrites = (turn: NewItem<Turn>): TransactionWrite[] => {
  const { project, correlation, depth, id, createdAt, fingerprint, traceparent } = turn;
  const expires = createdAt + RELATED_RETENTION_MS;
  const correlationRecord = { correlation, depth, turn: id, happenedAt: createdAt, fingerprint, traceparent, expires };
  return [
    // An item is created only while its batch is open, so that none is left running.
    ...(turn.batchMembership
      ? [{ kind: 'check' as const, key: batchRef(project, turn.batchMembership.batchId), if: equals('status', 'open') }]
      : []),
    { kind: 'create', item: { ...buildCorrelationRecord(project, 'enqueue', 'request', correlationRecord) } },
    { kind: 'create', item: { ...turn } },
    ...(turn.isRunAsTask ? [] : [{ kind: 'create' as const, item: { ...toQueuedTurn(turn) } }]),
  ];
};

const toQueuedTurn = (turn: NewItem<Turn>): NewItem<QueuedTurn> => {
  const { id, contextBox, payload } = turn;
  return { ...queuedTurnKey(turn), turn: id, contextBox, payload, ...pickActiveTurn(turn) };
};

/**
 * A rejected call becomes a failed turn, so that observers of the agent see it. Idempotent. Returns the error with
 * the id of the turn.
 */
const createRejectedTurn = async (deps: Deps, wanted: NewItem<Turn>, refusal: ParleyError): Promise<ParleyError> => {
  const { project, fingerprint, due: _due, ...turn } = wanted;
  const id = `turn_${computeFingerprint([refusal.code, wanted.agent, fingerprint])}`;
  const end = { status: 'failed' as const, at: wanted.createdAt, error: refusal.message, errorCode: refusal.code };
  const refused = { ...turn, ...turnRef(project, id), sk: 'turn' as const, project, id, isRunAsTask: undefined };
  const deliverable = await createDeliverableCard(deps, refused, end);
  const expires = wanted.createdAt + deps.config.turns.retentionMs;
  await deps.records.create<Turn>({ ...refused, state: 'ended', end: { ...end, deliverable }, expires }, deps.newId());
  const { code, message, issues, details } = refusal;
  return new ParleyError(code, message, { issues, details: { ...details, agent_turn_id: id } });
};
