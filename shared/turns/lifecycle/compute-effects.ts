import { turnProtocol } from '../../dialects/turn-protocol.ts';
import {
  type ActiveTurn,
  type AgentState,
  computeExecutionStatus,
  getOwn,
  type ToolReport,
  type TurnEnd,
  type TurnStep,
} from '../../model/agent-state.ts';
import type { Batch, BatchItemEnd } from '../../model/batch.ts';
import { buildCorrelationRecord, type CallPhase } from '../../model/correlation.ts';
import type { Effect } from '../../model/effect.ts';
import { type ToolCall, toToolCallTaskId } from '../../model/tool-call.ts';
import type { Turn } from '../../model/turn.ts';
import type { Wakeup } from '../../model/turn-effect.ts';
import { type TurnEventContext, toTurnEventContext } from '../../model/turn-event.ts';
import type { RecordChange } from '../../ports/records.ts';
import { encodeTurnEnd } from './turn-end-event.ts';

/** All effects of one write to an agent state. */
export const computeAgentStateEffects = ({ before, after }: RecordChange<AgentState>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  const hasEnded = before?.turn !== undefined && after.turn === undefined;
  // An ended turn is only in the state before.
  const { turn, active } = hasEnded ? before : after;
  if (turn === undefined || active === undefined) return [];
  const { project, agent, epoch } = after;
  const about = toTurnEventContext(project, active, agent);
  const cause = `turn/${turn}:${after.v}`;
  if (before?.turn !== turn) effects.push({ kind: 'recordLease', project, turn, agent, epoch, at: after.at });
  if (computeExecutionStatus(before) !== computeExecutionStatus(after)) {
    effects.push({
      kind: 'publish',
      event: turnProtocol.encodeEvent({
        kind: 'state',
        cause,
        at: after.at,
        target: agent,
        context: about,
        turn,
        status: computeExecutionStatus(after),
        epoch,
        outputBox: after.turn === undefined ? after.last?.outputBox : undefined,
      }),
    });
  }
  const step = after.steps !== before?.steps && !hasEnded ? after.step : undefined;
  if (step) effects.push(...computeStepEffects(after, step, turn, cause, about));
  effects.push(...computeResumeWakeups(before, after, turn, about));
  effects.push(...computeReportCorrelations(before, after, active, turn));
  effects.push(...computeToolCallEffects(before, after, turn));
  if (active.task !== undefined && !hasEnded) {
    const taken = step && { ...step, turn, number: after.steps ?? 0 };
    effects.push({ kind: 'renewTask', project, task: active.task, agent, step: taken });
  }
  if (hasEnded && after.last) {
    const { turn: _turn, epoch: _epoch, toolCall: _call, ...end } = after.last;
    effects.push({ kind: 'endTurn', project, turn, agent, steps: before.steps ?? 0, end });
    effects.push({ kind: 'wakeIfQueued', project, agent, cause, at: after.at });
  }
  return effects;
};

const computeStepEffects = (
  head: AgentState,
  step: TurnStep,
  turn: string,
  cause: string,
  about: TurnEventContext,
): Effect[] => {
  const number = head.steps ?? 0;
  const { agent: target, epoch } = head;
  const event = { kind: 'step', cause, at: step.at, target, context: about, turn, step, epoch } as const;
  return [
    { kind: 'publish', event: turnProtocol.encodeEvent(event) },
    { kind: 'putStep', project: head.project, turn, number, step },
  ];
};

/** When the turn can continue, and again if its worker does not resume it. */
const computeResumeWakeups = (
  before: AgentState | undefined,
  after: AgentState,
  turn: string,
  about: TurnEventContext,
): Effect[] => {
  const canGoOn =
    computeExecutionStatus(before) === 'suspended' &&
    computeExecutionStatus(after) === 'running' &&
    after.state === 'suspended';
  const isAgain = after.lastWakeupAt !== undefined && after.lastWakeupAt !== before?.lastWakeupAt;
  if (!canGoOn && !isAgain) return [];
  const reason = canGoOn ? 'resume' : 'again';
  const wakeup = {
    cause: `turn/${turn}:${after.v}`,
    at: after.at,
    target: after.agent,
    inboxId: turn,
    context: about,
  } as const;
  return [{ kind: 'sendWakeup', wakeup: { ...wakeup, reason } }];
};

/** Reports of this write, under the ids of their calls. A report that ends the turn is in no inbox. */
const computeReportCorrelations = (
  before: AgentState | undefined,
  after: AgentState,
  active: ActiveTurn,
  turn: string,
): Effect[] => {
  const { project, last } = after;
  const came: [string, Pick<ToolReport, 'at' | 'traceparent'>][] = Object.entries(after.reports ?? {});
  const final = after.turn === undefined ? last?.toolCall : undefined;
  if (last && final !== undefined) came.push([final, { at: last.at, traceparent: active.traceparent }]);
  const fresh = came.filter(([toolCall]) => getOwn(before?.reports, toolCall) === undefined);
  return fresh.map(([toolCall, { at: happenedAt, traceparent }]): Effect => {
    const correlation = toToolCallTaskId(turn, toolCall);
    const facts = { correlation, depth: active.depth, turn, happenedAt, traceparent };
    return { kind: 'putCorrelation', edge: buildCorrelationRecord(project, 'report', 'response', facts) };
  });
};

/** What executes a call is completed by the report, and stopped when nobody waits for it. */
const computeToolCallEffects = (before: AgentState | undefined, after: AgentState, turn: string): Effect[] => {
  const { project, last } = after;
  const hasEnded = after.turn === undefined;
  const calls = Object.entries(before?.waiting ?? {}).filter(([, state]) => state === 'waiting');
  return calls.flatMap(([toolCall]): Effect[] => {
    const report = getOwn(after.reports, toolCall);
    if (report?.type === 'tool_result') return [{ kind: 'completeToolCallTask', project, turn, toolCall, report }];
    if (hasEnded && last?.toolCall === toolCall) {
      const final = { status: last.status, card: last.toolResultCard ?? '' };
      return [{ kind: 'completeToolCallTask', project, turn, toolCall, report: final }];
    }
    return hasEnded || report ? [{ kind: 'cancelToolCall', project, turn, toolCall }] : [];
  });
};

export const computeBatchCallEffects = ({ before, after }: RecordChange<Batch>): Effect[] => {
  if (!after?.call) return [];
  if (!before) return [buildJoinCorrelationEffect(after, after.call, 'request')];
  if (before.status !== 'open' || after.status === 'open') return [];
  return [
    buildJoinCorrelationEffect(after, after.call, 'response'),
    { kind: 'reportBatchResult', batch: after, call: after.call },
  ];
};

const buildJoinCorrelationEffect = (
  { project, id: correlation, at: happenedAt, traceparent }: Batch,
  { depth, turn }: ToolCall,
  phase: CallPhase,
): Effect => ({
  kind: 'putCorrelation',
  edge: buildCorrelationRecord(project, 'join', phase, { correlation, depth, turn, happenedAt, traceparent }),
});

/** All effects of one write to a turn. */
export const computeTurnEffects = ({ before, after }: RecordChange<Turn>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  if (!before && after.isRunAsTask) effects.push({ kind: 'createTaskForTurn', turn: after });
  if (after.state === 'queued' && !after.isRunAsTask && before?.wakeupCount !== after.wakeupCount) {
    effects.push({ kind: 'sendWakeup', wakeup: buildEnqueueWakeup(after) });
  }
  if (after.end && !before?.end) effects.push(...computeTurnEndEffects(after, after.end));
  return effects;
};

const buildEnqueueWakeup = (turn: Turn): Wakeup => ({
  cause: `turn/${turn.id}:${turn.v}`,
  at: turn.at,
  target: turn.agent,
  isForGroup: turn.isForGroup,
  inboxId: turn.correlation,
  reason: turn.wakeupCount === 0 ? 'enqueue' : 'again',
  context: toTurnEventContext(turn.project, turn),
});

/** The end event, and a result for the caller. */
const computeTurnEndEffects = (turn: Turn, end: TurnEnd): Effect[] => {
  const { project, correlation, depth, id, traceparent } = turn;
  const effects: Effect[] = [{ kind: 'publish', event: encodeTurnEnd(turn, end) }];
  // A rejected call may have named the correlation id of another.
  if (turn.fingerprint !== undefined) {
    const facts = { correlation, depth, turn: id, happenedAt: end.at, traceparent };
    effects.push({ kind: 'putCorrelation', edge: buildCorrelationRecord(project, 'enqueue', 'response', facts) });
  }
  if (turn.parent) effects.push({ kind: 'reportTurnResult', turn, call: turn.parent, end });
  if (turn.task !== undefined) effects.push({ kind: 'completeTask', turn, end });
  if (turn.isRunAsTask) effects.push({ kind: 'cancelTurnTask', project, turn: id });
  if (turn.action !== undefined) effects.push({ kind: 'completeUiAction', project, action: turn.action, end });
  if (turn.batchMembership)
    effects.push({
      kind: 'recordBatchItemEnd',
      project,
      batchMembership: turn.batchMembership,
      end: toBatchItemEnd(end),
    });
  return effects;
};

const toBatchItemEnd = ({ status, error, errorCode }: TurnEnd): BatchItemEnd => {
  if (status === 'success' || status === 'partial') return { status: 'completed' };
  const auditEntry = { code: errorCode ?? status, message: error ?? `It ended ${status}.` };
  return { status: status === 'canceled' ? 'cancelled' : 'failed', error: auditEntry };
};
