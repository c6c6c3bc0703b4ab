import { DAY_MS } from '../../kernel/retention.ts';
import { limitedListKey } from '../../model/limit.ts';
import { capByAnswer, countSpentAttempts, type Task, type TaskError } from '../../model/task.ts';
import { type Change, equals, mergeChanges } from '../../ports/conditions.ts';
import {
  buildEnqueueChange,
  buildExpiryChange,
  buildFailureChange,
  buildRetryOrFailChange,
  LEASE_FIELDS,
  type TaskLimits,
  type TransitionContext,
} from './end-and-requeue.ts';

/** For tasks that wait for dependencies. */
export const RECHECK_MS = DAY_MS;

/** `due` may be earlier, never later. */
export const computeNextCheckAt = (task: Task, limits: TaskLimits): number | undefined => {
  if (task.endedAt !== undefined) return undefined;
  const at = capByAnswer(task, computeStateCheckAt(task, limits) ?? Infinity);
  return at === Infinity ? undefined : at;
};

const computeStateCheckAt = (task: Task, limits: TaskLimits): number | undefined => {
  if (task.status === 'input_required') return undefined;
  if (task.status === 'waiting') return task.at + RECHECK_MS;
  if (task.status !== 'requested') return task.leaseUntil;
  if (task.notBefore !== undefined) return task.notBefore;
  return Math.min(
    task.deadline,
    task.queuedAt + limits.requeueMs * 2 ** task.requeueCount,
    getAcknowledgeDeadline(task),
  );
};

/** A claim acknowledges a task. */
const getAcknowledgeDeadline = ({ acknowledgeBy = Infinity, unacknowledgedAt, attempt }: Task): number =>
  unacknowledgedAt === undefined && attempt === 0 ? acknowledgeBy : Infinity;

/** Conditional on the version. */
export const timerTransition = (task: Task, when: TransitionContext): Change => ({
  ...computeTimerChange(task, when),
  if: equals('v', task.v),
});

/** Its instance is gone: any instance may claim it. */
export const buildAnyInstanceChange = (task: Task, when: TransitionContext): Change =>
  task.notBefore === undefined && task.deadline > when.now
    ? { ...mergeChanges(buildEnqueueChange(task.deadline, when), { unset: ['instance'] }), if: equals('v', task.v) }
    : timerTransition(task, when);

/** Its capability has a queue now. */
export const buildCapabilityQueueChange = (task: Task, when: TransitionContext): Change => {
  const routingCapability: Change = { set: { routingCapability: task.capability }, unset: ['byHolder'] };
  // It will be queued there anyway.
  if (task.status === 'waiting' || (task.notBefore ?? 0) > when.now)
    return { ...routingCapability, if: equals('v', task.v) };
  return task.status === 'requested' && task.deadline > when.now
    ? { ...mergeChanges(buildEnqueueChange(task.deadline, when), routingCapability), if: equals('v', task.v) }
    : timerTransition(task, when);
};

const computeTimerChange = (task: Task, when: TransitionContext): Change => {
  const look = computeNextCheckAt(task, when.limits);
  if (look === undefined) return { unset: ['due'] };
  if (look > when.now) return { set: { due: computeHalfway(task, look, when.now) } };
  if (isAnswerOverdue(task, when.now)) return buildExpiryChange(task, when);
  // Every write reconciles a waiting task.
  if (task.status === 'waiting') return { set: { due: when.now + RECHECK_MS } };
  if (task.status !== 'requested') return buildLeaseExpiredChange(task, when);
  if (task.notBefore !== undefined) return buildStartChange(task, when);
  if (task.deadline <= when.now) return buildExpiryChange(task, when);
  if (getAcknowledgeDeadline(task) <= when.now) {
    const unacknowledgedAt = when.now;
    return { set: { unacknowledgedAt, due: computeNextCheckAt({ ...task, unacknowledgedAt }, when.limits) } };
  }
  // The same generation: if its first message is still queued, that one keeps its position.
  const resent = task.requeueCount + 1;
  const next = computeNextCheckAt({ ...task, requeueCount: resent }, when.limits);
  return { set: { requeueCount: resent, due: next && computeHalfway(task, next, when.now) } };
};

/** Of a task whose delay is over. */
const buildStartChange = (task: Task, when: TransitionContext): Change => {
  const change = buildEnqueueChange(task.deadline, when);
  const next = Math.min(Number(change.set?.due), getAcknowledgeDeadline(task));
  return { ...change, set: { ...change.set, due: next } };
};

export const isAnswerOverdue = ({ answerBy = Infinity, endedAt }: Task, now: number): boolean =>
  endedAt === undefined && answerBy <= now;

const SHORTEST_LOOK_MS = 5000;

/**
 * A task in the queue of its domain is checked after half of its time to live, then after half of the rest: its
 * capability may be declared by now, and the other providers may be gone. Tasks without a provider are checked
 * anyway.
 */
const computeHalfway = (task: Task, look: number, now: number): number => {
  const { status, to, domain, routingCapability, deliveryTarget, byHolder, notBefore, queuedAt, deadline } = task;
  const isInDomain =
    status === 'requested' && to === undefined && domain !== undefined && routingCapability === undefined;
  const isListedElsewhere = byHolder !== undefined && !byHolder.pk.startsWith(limitedListKey(task.project, ''));
  if (!isInDomain || deliveryTarget || isListedElsewhere || notBefore !== undefined) return look;
  const half = queuedAt + Math.ceil((deadline - queuedAt) / 2);
  return Math.min(look, now < half ? half : now + Math.max(SHORTEST_LOOK_MS, Math.ceil((deadline - now) / 2)));
};

const buildLeaseExpiredChange = (task: Task, when: TransitionContext): Change => {
  const error: TaskError = {
    code: 'timeout',
    message: `The lease ran out without a sign of life from ${task.holder}.`,
    retryable: true,
    agent: task.holder,
  };
  if (countSpentAttempts(task) >= task.maxAttempts) return buildFailureChange(task, when, error);
  if (task.deadline <= when.now) return buildRetryOrFailChange(task, when, error);
  return mergeChanges(buildEnqueueChange(task.deadline, when), { set: { error }, unset: LEASE_FIELDS });
};
