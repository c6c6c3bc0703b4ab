import type { Effect } from '../dispatch/effect.ts';
import { type Delivery, deliveriesOf, outcomeOf, PARLEY } from '../inbox/delivery.ts';
import type { JsonObject } from '../json/json.ts';
import type { Change } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { Outgoing } from '../ports/queues.ts';
import type { Fresh, RecordChange } from '../ports/records.ts';
import { relayedOutcome, relayedReport } from '../relay/relayed.ts';
import { cancel } from './ends.ts';
import { historyOf } from './history.ts';
import { loggedIn } from './logged.ts';
import { queuedBy } from './queued-by.ts';
import { unseen } from './rules.ts';
import { endOf, hasReported, isHeld, isInHand, isOpen, type Task } from './task.ts';
import { endedWaiting } from './waiting.ts';

/** Everything that follows from one write to a task, and nothing that does not. */
export const effectsOf = ({ before, after }: RecordChange<Task>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  const taken = edges(before, after);
  for (const message of queuedBy({ before, after })) effects.push({ kind: 'enqueue', message });
  for (const message of toldOnNats(taken, after)) effects.push({ kind: 'enqueue', message });
  const deliveries = deliveriesOf(before, after);
  for (const type of taken) effects.push({ kind: 'announce', event: eventOf(type, after, deliveries) });
  for (const entry of historyOf(before, after)) effects.push({ kind: 'remember', entry });
  for (const delivery of deliveries) effects.push({ kind: 'deliver', delivery });
  if (hasJustBeenCancelled(before, after) && after.children !== undefined) {
    effects.push({ kind: 'cancelChildren', of: after, change: cancelWith(after) });
  }
  const hasEndedOrBegunAgain = before !== undefined && isOpen(before) !== isOpen(after);
  // One that ended by what it waited for is looked at too: that may run again by now.
  if (after.status === 'waiting' || (hasEndedOrBegunAgain && endedWaiting(after))) {
    effects.push({ kind: 'lookAtDependencies', of: after });
  }
  if (after.waiters !== undefined && hasEndedOrBegunAgain) effects.push({ kind: 'lookAtWaiters', of: after });
  const { project, joins, graph } = after;
  if (graph !== undefined && hasEndedOrBegunAgain) effects.push({ kind: 'lookAtGraph', project, graph });
  const end = hasEndedOrBegunAgain && endOf(after);
  if (joins && end) effects.push({ kind: 'join', project, joins, end: { status: end } });
  return effects;
};

const hasJustBeenCancelled = (before: Task | undefined, after: Task): boolean =>
  before?.status !== 'cancelled' && after.status === 'cancelled';

/** As the parent was: by the same one, at the same time, to be kept for as long. */
const cancelWith = ({ cancelledBy = PARLEY, endedAt = 0, expires = endedAt }: Task): Change =>
  unseen(cancel(cancelledBy, { now: endedAt, limits: { keepMs: expires - endedAt } }));

/** A requester on NATS is told of each step, and of a result that it cannot read in an inbox; everything else is delivered. */
const toldOnNats = (taken: Edge[], task: Task): Outgoing[] => {
  if (!task.fromNats) return [];
  if (taken.includes('task.completed')) return [relayedOutcome(task.project, outcomeOf(task, task.from))];
  const isReport = isHeld(task) && (taken.includes('task.claimed') || taken.includes('task.progress'));
  return isReport ? [relayedReport(task)] : [];
};

export type Edge = `task.${
  | 'requested'
  | 'unacknowledged'
  | 'claimed'
  | 'progress'
  | 'retrying'
  | 'ready'
  | 'released'
  | 'input_required'
  | 'input_given'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelled'}`;

/** The steps of its life that the task took with this write. A report on an unclaimed task takes two. */
const edges = (before: Task | undefined, after: Task): Edge[] => {
  if (!before) return ['task.requested'];
  const claims: Edge[] = after.attempt > before.attempt ? ['task.claimed'] : [];
  if (after.status === 'claimed') return before.status === 'input_required' ? ['task.input_given'] : claims;
  if (after.status === 'waiting') return before.endedAt === undefined ? [] : ['task.requested'];
  if (after.status === 'in_progress') return hasReported(before, after) ? [...claims, 'task.progress'] : [];
  if (after.status === 'requested') return [...claims, ...edgesBackToQueue(before, after)];
  return before.status === after.status ? [] : [...claims, `task.${after.status}`];
};

const edgesBackToQueue = (before: Task, after: Task): Edge[] => {
  if (before.endedAt !== undefined) return ['task.requested'];
  if (before.status === 'waiting') return ['task.ready'];
  if (before.unacknowledgedAt !== after.unacknowledgedAt) return ['task.unacknowledged'];
  if (after.attempt > before.attempt || isInHand(before)) {
    return [after.notBefore === undefined ? 'task.released' : 'task.retrying'];
  }
  return [];
};

const eventOf = (type: Edge, task: Task, deliveries: Fresh<Delivery>[]): ParleyEvent => ({
  id: `${task.id}:${task.v}:${type}`,
  project: task.project,
  type,
  at: task.at,
  data: {
    taskId: task.id,
    status: task.status,
    capability: task.capability,
    domain: task.domain,
    skill: task.skill,
    priority: task.priority,
    from: task.from,
    attempt: task.attempt,
    traceparent: task.traceparent,
    to: task.to,
    agent: task.holder ?? (type === 'task.retrying' ? task.error?.agent : undefined),
    ...(type === 'task.progress' && progressOf(task)),
    ...loggedIn(type, task, deliveries),
    error: task.error && { code: task.error.code, message: task.error.message },
  },
});

const progressOf = ({ progress }: Task): JsonObject => ({
  percent: progress?.percent,
  message: progress?.message,
  subTasks: progress?.subTasks,
  blockers: progress?.blockers,
});
