import { findDialect } from '../dialects/registry.ts';
import { SYSTEM_SENDER } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { buildTaskAuditFields } from '../messaging/audit-log/task-audit-entries.ts';
import type { StoredArtifacts } from '../model/artifact.ts';
import { buildDeliveries, buildOutcome, type Delivery, getQuestionId } from '../model/delivery.ts';
import type { Effect } from '../model/effect.ts';
import { buildHistoryEntries } from '../model/history.ts';
import { buildInboxReport, getLastMessageId } from '../model/inbox-report.ts';
import { limitedListKey } from '../model/limit.ts';
import {
  getTerminalStatus,
  hasReported,
  isAssigned,
  isHeld,
  isOpen,
  type Task,
  type TaskEventType,
} from '../model/task.ts';
import { buildListing, type TaskListing } from '../model/task-listing.ts';
import { buildOutcomeRelay, buildReportRelay } from '../nats/relay-item.ts';
import { toIso } from '../ports/clock.ts';
import type { Change } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { QueueMessage } from '../ports/queues.ts';
import type { NewItem, RecordChange } from '../ports/records.ts';
import { buildQueueMessages } from '../tasks/commands/enqueue-task.ts';
import { isEndedByDependency } from '../tasks/dependencies/dependency-transitions.ts';
import { buildCancelTransition } from '../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../tasks/transitions/rules.ts';

/** All effects of one write to a task. */
export const computeTaskEffects = ({ before, after }: RecordChange<Task>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  const taken = computeTaskEvents(before, after);
  for (const message of buildQueueMessages({ before, after })) effects.push({ kind: 'enqueue', message });
  for (const message of buildNatsNotifications(taken, after)) effects.push({ kind: 'enqueue', message });
  const deliveries = buildDeliveries(before, after);
  if (concernsCalledAgent(taken)) effects.push({ kind: 'wakeAgentCallers', task: after });
  for (const type of taken) {
    const event = buildTaskEvent(type, before, after, deliveries);
    effects.push({ kind: 'publish', event });
    if (after.hasPush) effects.push({ kind: 'push', taskId: after.id, event });
  }
  for (const entry of buildHistoryEntries(before, after)) effects.push({ kind: 'appendHistory', entry });
  for (const delivery of deliveries) effects.push({ kind: 'deliver', delivery });
  const listing = buildChangedListing(before, after);
  if (listing) effects.push({ kind: 'putListing', listing });
  const report = buildInboxReport(before, after);
  if (report && !after.fromNats) effects.push({ kind: 'deliverReport', report });
  // Other reports are relayed in any case.
  const { reportId, failedAttempt } = report?.task ?? {};
  if (failedAttempt && after.fromNats)
    effects.push({ kind: 'enqueue', message: buildReportRelay(after, { reportId, failedAttempt }) });
  for (const key of listFreedKeys(before, after)) effects.push({ kind: 'startWaiting', project: after.project, key });
  if (isNewlyCancelled(before, after) && after.childCount !== undefined) {
    effects.push({ kind: 'cancelChildren', of: after, change: buildChildCancellation(after) });
  }
  const hasEndedOrBegunAgain = before !== undefined && isOpen(before) !== isOpen(after);
  // A task that ended because of a dependency may be queued again.
  if (after.status === 'waiting' || (hasEndedOrBegunAgain && isEndedByDependency(after))) {
    effects.push({ kind: 'reconcileDependencies', of: after });
  }
  if (after.dependentCount !== undefined && hasEndedOrBegunAgain)
    effects.push({ kind: 'reconcileDependents', of: after });
  const { project, batchMembership, graph } = after;
  if (graph !== undefined && hasEndedOrBegunAgain) effects.push({ kind: 'reconcileGraph', project, graph });
  const end = hasEndedOrBegunAgain && getTerminalStatus(after);
  if (batchMembership && end)
    effects.push({ kind: 'recordBatchItemEnd', project, batchMembership, end: { status: end } });
  return effects;
};

/** Only for dialects whose clients list tasks so. */
const buildChangedListing = (before: Task | undefined, after: Task): NewItem<TaskListing> | undefined => {
  const describe = findDialect(after.dialect)?.describeForListing;
  if (!describe) return undefined;
  const [was, is] = [before && describe(before), describe(after)];
  const isSame = was?.status === is.status && was.changedAt === is.changedAt && before?.expires === after.expires;
  return isSame ? undefined : buildListing(after, is);
};

const WAKING_TYPES: ReadonlySet<TaskEventType> = new Set([
  'task.requested',
  'task.ready',
  'task.released',
  'task.retrying',
  'task.input_given',
  'task.cancelled',
]);
const concernsCalledAgent = (taken: TaskEventType[]): boolean => taken.some((type) => WAKING_TYPES.has(type));

const isNewlyCancelled = (before: Task | undefined, after: Task): boolean =>
  before?.status !== 'cancelled' && after.status === 'cancelled';

/** Of a task that no longer runs, or of one that ended while a place may have been meant for it. */
const listFreedKeys = (before: Task | undefined, after: Task): string[] => {
  if (before === undefined) return [];
  if (isAssigned(before)) return isAssigned(after) ? [] : (before.places ?? []);
  const prefix = limitedListKey(before.project, '');
  const isUnclaimedEnd = isOpen(before) && !isOpen(after) && before.byHolder?.pk.startsWith(prefix);
  return isUnclaimedEnd ? [before.byHolder?.pk.slice(prefix.length) ?? ''] : [];
};

/** Same actor, time and retention as the parent. */
const buildChildCancellation = (parent: Task): Change => {
  const { cancelledBy = SYSTEM_SENDER, cancelReason: reason, endedAt = 0, expires = endedAt } = parent;
  const when = { now: endedAt, limits: { retentionMs: expires - endedAt } };
  return toConditionalUpdate(buildCancelTransition(cancelledBy, when, { reason }));
};

/** For a requester on NATS: all events, and a result that it cannot read in an inbox. */
const buildNatsNotifications = (taken: TaskEventType[], task: Task): QueueMessage[] => {
  // The requester had the result before.
  if (!task.fromNats || taken.includes('task.requested')) return [];
  if (taken.includes('task.completed')) return [buildOutcomeRelay(task.project, buildOutcome(task, task.from))];
  if (!isHeld(task)) return [];
  if (taken.includes('task.progress')) return [buildReportRelay(task, { reportId: getLastMessageId(task) })];
  return taken.includes('task.claimed') ? [buildReportRelay(task)] : [];
};

/** The events of one write. A report on an unclaimed task has two. */
export const computeTaskEvents = (before: Task | undefined, after: Task): TaskEventType[] => {
  if (!before) return after.status === 'completed' ? ['task.requested', 'task.completed'] : ['task.requested'];
  const claims: TaskEventType[] = after.attempt > before.attempt ? ['task.claimed'] : [];
  if (after.status === 'claimed') return before.status === 'input_required' ? ['task.input_given'] : claims;
  if (after.status === 'waiting') return before.endedAt === undefined ? [] : ['task.requested'];
  if (after.status === 'in_progress') return hasReported(before, after) ? [...claims, 'task.progress'] : [];
  if (after.status === 'requested') return [...claims, ...computeRequeueEvents(before, after)];
  const isAsked = getQuestionId(before) !== getQuestionId(after);
  return before.status === after.status && !isAsked ? [] : [...claims, `task.${after.status}`];
};

const computeRequeueEvents = (before: Task, after: Task): TaskEventType[] => {
  if (before.endedAt !== undefined) return ['task.requested'];
  // Its dependencies are completed, or its start has come.
  const isDelayed = before.notBefore !== undefined && before.attempt === 0;
  if (before.status === 'waiting' || isDelayed) return after.notBefore === undefined ? ['task.ready'] : [];
  if (before.answerCount !== after.answerCount) return ['task.input_given'];
  if (before.unacknowledgedAt !== after.unacknowledgedAt) return ['task.unacknowledged'];
  if (after.attempt > before.attempt || isAssigned(before)) {
    return [after.notBefore === undefined ? 'task.released' : 'task.retrying'];
  }
  return [];
};

const buildTaskEvent = (
  type: TaskEventType,
  before: Task | undefined,
  task: Task,
  deliveries: NewItem<Delivery>[],
): ParleyEvent => ({
  id: `${task.id}:${task.v}:${type}`,
  project: task.project,
  type,
  at: task.at,
  data: {
    taskId: task.id,
    status: task.status,
    capability: task.capability,
    domain: task.domain,
    routingCapability: task.routingCapability,
    priority: task.priority,
    from: task.from,
    attempt: task.attempt,
    traceparent: task.traceparent,
    conversationId: task.conversation,
    to: task.to,
    agent: task.holder ?? (type === 'task.retrying' ? task.error?.agent : undefined),
    ...(type === 'task.progress' && buildEventProgress(task)),
    ...(type === 'task.input_required' && {
      message: task.prompt?.prompt,
      kind: task.prompt?.kind,
      blockers: task.prompt?.blockers,
    }),
    ...(task.artifacts && type !== 'task.claimed' && { artifacts: listChangedArtifacts(before, task.artifacts) }),
    ...buildEventActor(type, task),
    ...buildEventTimes(type, before, task),
    ...buildTaskAuditFields(type, task, deliveries),
    error: task.error && { code: task.error.code, message: task.error.message },
  },
});

/** The actor, if it is not the holder. */
const buildEventActor = (type: TaskEventType, task: Task): JsonObject => {
  const { cancelledBy, cancelReason, lastAnswer, retriedBy, retryReason, operationId, rerunOf } = task;
  const notBefore = task.attempt === 0 ? toIso(task.notBefore) : undefined;
  if (type === 'task.cancelled') return { cancelledBy, reason: cancelReason, operationId };
  if (type === 'task.input_given') return { answeredBy: lastAnswer?.by };
  return type === 'task.requested' ? { retriedBy, reason: retryReason, operationId, rerunOf, notBefore } : {};
};

/** How long it could be claimed before it was, and how long it took from its creation to its end. */
const buildEventTimes = (type: TaskEventType, before: Task | undefined, task: Task): JsonObject => {
  const { createdAt, claimedAt, endedAt } = task;
  if (type === 'task.claimed' && before && claimedAt !== undefined)
    return { queuedMs: Math.max(0, claimedAt - Math.max(before.queuedAt, before.notBefore ?? 0)) };
  return getTerminalStatus(task) && endedAt !== undefined && type !== 'task.claimed'
    ? { tookMs: Math.max(0, endedAt - createdAt) }
    : {};
};

/** By name. Absent if none has changed. */
const listChangedArtifacts = (
  before: Task | undefined,
  { index, ...stored }: StoredArtifacts,
): string[] | undefined => {
  const { index: known = [], ...old } = before?.artifacts ?? {};
  const changed = index.filter((entry) => {
    const earlier = known.find(({ name }) => name === entry.name);
    return JSON.stringify(earlier) !== JSON.stringify(entry);
  });
  // The content alone may have changed, and its size not.
  const isSame = changed.length === 0 && JSON.stringify(old) === JSON.stringify(stored);
  const names = (changed.length > 0 ? changed : index).map(({ name }) => name);
  return isSame ? undefined : names;
};

const buildEventProgress = ({ progress }: Task): JsonObject => ({
  percent: progress?.percent,
  message: progress?.message,
  subTasks: progress?.subTasks,
  blockers: progress?.blockers,
});
