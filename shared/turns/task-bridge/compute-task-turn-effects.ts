import { turnProtocol } from '../../dialects/turn-protocol.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import type { ExecutionStatus } from '../../model/agent-state.ts';
import type { Effect } from '../../model/effect.ts';
import { hasReported, isOpen, type Task } from '../../model/task.ts';
import { getToolCall, type TurnTaskLink } from '../../model/tool-call.ts';
import { toTaskTurnId } from '../../model/turn.ts';
import type { RecordChange } from '../../ports/records.ts';

/** For tasks that execute a call or that a turn works on. */
export const computeTaskTurnEffects = ({ before, after }: RecordChange<Task>): Effect[] => {
  if (!after) return [];
  const link = turnProtocol.findTaskLink(after.extensions);
  const effects = computeStopWorkEffects(before, after);
  if (before && link?.turn !== undefined) effects.push(...computeStateEffects(before, after, link, link.turn));
  if (isOpen(after) || (before && !isOpen(before))) return effects;
  const call = getToolCall(link);
  if (call) effects.push({ kind: 'reportTaskResult', task: after, call });
  else if (link?.turn !== undefined) effects.push({ kind: 'completeFromTask', task: after, turn: link.turn });
  return effects;
};

/** The turn stops when its task has ended by itself or has another holder. */
const computeStopWorkEffects = (before: Task | undefined, { status, project, endMessage, attempt }: Task): Effect[] => {
  if (!before) return [];
  const hasEnded = status === 'cancelled' || status === 'expired' || (status === 'failed' && !endMessage);
  if (before.holder !== undefined && hasEnded) {
    return [{ kind: 'stopTurn', project, turn: toTaskTurnId(before) }];
  }
  // It has been queued once since its last holder.
  const isAnothers = before.attempt > 0 && attempt > before.attempt;
  const lost = { ...before, queueGeneration: before.queueGeneration - 1 };
  return isAnothers ? [{ kind: 'stopTurn', project, turn: toTaskTurnId(lost) }] : [];
};

const EXECUTION_STATUSES: Partial<Record<Task['status'], ExecutionStatus>> = {
  claimed: 'dispatched',
  in_progress: 'running',
  input_required: 'suspended',
};

const toExecutionStatus = ({ status }: Task): ExecutionStatus => EXECUTION_STATUSES[status] ?? 'idle';

/** A turn without an agent state has its states from its task. */
const computeStateEffects = (before: Task, after: Task, link: TurnTaskLink, turn: string): Effect[] => {
  const status = toExecutionStatus(after);
  const isProgress = status === 'running' && hasReported(before, after);
  if (status === toExecutionStatus(before) && !isProgress) return [];
  const { project, at, attempt, traceparent, tracestate } = after;
  const target = after.holder ?? before.holder ?? after.to ?? SYSTEM_SENDER;
  const { channel, depth, protocolVersion } = link;
  const context = { project, channel, depth, protocolVersion, traceparent, tracestate, sender: target };
  const cause = `turn/${turn}:task/${after.v}`;
  const event = { kind: 'state', cause, at, target, context, turn, status, epoch: attempt } as const;
  return [{ kind: 'publish', event: turnProtocol.encodeEvent({ ...event, metadata: buildMetadata(after) }) }];
};

const buildMetadata = ({ status, progress, prompt }: Task): JsonObject | undefined => {
  if (status === 'input_required') return { input: { ...prompt } };
  return status === 'in_progress' && progress ? { progress: progress.percent, message: progress.message } : undefined;
};
