import type { JsonObject } from '../../kernel/json/json.ts';
import { type AgentState, computeExecutionStatus, type ExecutionStatus, getOwn } from '../../model/agent-state.ts';
import type { Task } from '../../model/task.ts';
import type { StoredStep, Turn, TurnRequest } from '../../model/turn.ts';
import { toIso } from '../../ports/clock.ts';
import type { TurnLease } from '../../turns/lifecycle/lease-turn.ts';
import { listAwaitedCalls } from '../../turns/lifecycle/watchdog.ts';
import type { TurnDetails } from '../../turns/queries/get-turn.ts';
import { getTurnStatus } from '../../turns/queries/list-turns.ts';

/** A lease, with what the worker finds in its inbox. */
export const toLeaseView = ({ turn, epoch, work }: TurnLease) => ({
  agent_turn_id: turn,
  turn_epoch: epoch,
  inbox: 'request' in work ? [toTurnInboxRow(work.request)] : toReportInboxRows(work.resumed, turn),
});

const toTurnInboxRow = (row: TurnRequest): JsonObject => ({
  inbox_id: row.correlation,
  message_type: 'turn',
  correlation_id: row.correlation,
  channel_id: row.channel,
  recursion_depth: row.depth,
  from: row.from,
  context_box_id: row.contextBox,
  payload: row.payload,
  headers: row.headers,
  enqueued_at: toIso(row.createdAt),
  traceparent: row.traceparent,
  tracestate: row.tracestate,
  baggage: row.baggage,
});

/** What the tools said that the turn waited for. */
const toReportInboxRows = (head: AgentState, turn: string): JsonObject[] =>
  Object.entries(head.reports ?? {}).map(([toolCall, report]) => ({
    inbox_id: `${turn}:${toolCall}`,
    message_type: report.type,
    tool_call_id: toolCall,
    step_id: getOwn(head.waitingSteps, toolCall),
    agent_turn_id: turn,
    turn_epoch: head.epoch,
    agent_id: head.agent,
    after_execution: report.afterExecution,
    status: report.status,
    tool_result_card_id: report.card,
    traceparent: report.traceparent,
    tracestate: report.tracestate,
  }));

export const toAgentStateView = (agent: string, head: AgentState | undefined, isTurnVisible: boolean): JsonObject => ({
  agent_id: agent,
  status: computeExecutionStatus(head),
  turn_epoch: isTurnVisible ? (head?.epoch ?? 0) : undefined,
  active_agent_turn_id: isTurnVisible ? head?.turn : undefined,
  updated_at: head && toIso(head.at),
});

/** While an agent of another protocol has it, its task knows how far it is. */
const STATUS_BY_TASK: Partial<Record<Task['status'], ExecutionStatus>> = {
  claimed: 'dispatched',
  in_progress: 'running',
  input_required: 'suspended',
};

/** The turn with what its agent's head, or the task that it is for an agent of another protocol, knows of it while it is active. */
export const toTurnView = ({ turn, head, steps, task }: TurnDetails): JsonObject => {
  const active = head?.turn === turn.id ? head : undefined;
  // The turn's own record follows the head: it may not have learnt of the end yet.
  const last = head?.last?.turn === turn.id ? head.last : undefined;
  const end = turn.end ?? last;
  return {
    agent_turn_id: turn.id,
    agent_id: active?.agent ?? turn.agent,
    status: end?.status ?? computeOpenStatus(turn, active, task),
    turn_epoch: active?.epoch ?? turn.epoch ?? 0,
    correlation_id: turn.correlation,
    channel_id: turn.channel,
    recursion_depth: turn.depth,
    from: turn.from,
    context_box_id: turn.contextBox,
    payload: turn.payload,
    headers: turn.headers,
    traceparent: turn.traceparent,
    enqueued_at: toIso(turn.createdAt),
    leased_at: toIso(active?.leasedAt ?? turn.leasedAt),
    ended_at: toIso(end?.at),
    deliverable_card_id: end?.deliverable,
    output_box_id: end?.outputBox,
    tool_result_card_id: end?.toolResultCard,
    error: end?.error,
    error_code: end?.errorCode,
    steps: toStepViews(active, steps),
    waiting: active && toToolCallViews(active),
    resume_deadline: active && toIso(computeResumeDeadline(active)),
  };
};

/** In a list: what its own record has. */
export const toTurnSummary = (turn: Turn): JsonObject & { agent_turn_id: string } => ({
  agent_turn_id: turn.id,
  agent_id: turn.agent,
  status: getTurnStatus(turn),
  correlation_id: turn.correlation,
  channel_id: turn.channel,
  from: turn.from,
  enqueued_at: toIso(turn.createdAt),
  leased_at: toIso(turn.leasedAt),
  ended_at: toIso(turn.end?.at),
  error: turn.end?.error,
  error_code: turn.end?.errorCode,
});

/** When the last of the tools that it waits for must have reported. */
const computeResumeDeadline = (head: AgentState): number | undefined => {
  const deadlines = listAwaitedCalls(head).map(([, deadline]) => deadline);
  return deadlines.length > 0 ? Math.max(...deadlines) : undefined;
};

const computeOpenStatus = (turn: Turn, active: AgentState | undefined, task: Task | undefined): string => {
  if (active) return computeExecutionStatus(active);
  return (task && STATUS_BY_TASK[task.status]) ?? (turn.state === 'queued' ? 'queued' : 'dispatched');
};

/** The newest may not have been kept yet. */
const toStepViews = (head: AgentState | undefined, kept: StoredStep[]): JsonObject[] => {
  const steps = kept.toSorted((a, b) => a.number - b.number).map(({ step }) => step);
  const isKept = kept.some(({ number }) => number === head?.steps);
  if (head?.step && !isKept) steps.push(head.step);
  return steps.map(({ id, phase, at, metadata }) => ({ step_id: id, phase, at: toIso(at), metadata }));
};

const toToolCallViews = (head: AgentState): JsonObject[] =>
  Object.entries(head.waiting ?? {}).map(([toolCall, state]) => {
    const report = getOwn(head.reports, toolCall);
    return {
      tool_call_id: toolCall,
      step_id: getOwn(head.waitingSteps, toolCall),
      // The worker has taken up the turn, and with it what the tools said; it may wait for others by now.
      status: state === 'received' && (head.state === 'running' || !report) ? 'applied' : state,
      result: report?.status,
      tool_result_card_id: report?.card,
    };
  });
