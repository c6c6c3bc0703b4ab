import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { isOpen, type Task } from '../../model/task.ts';
import { type Change, equals, mergeChanges } from '../../ports/conditions.ts';
import {
  buildEndChange,
  buildEnqueueChange,
  buildFailureChange,
  inboxKey,
  type ManualChange,
  type TransitionContext,
} from '../transitions/end-and-requeue.ts';
import { RECHECK_MS } from '../transitions/timeouts.ts';

const DEPENDENCY_FAILED = 'dependency_failed';

/** It ended without being queued. */
export const isEndedByDependency = (task: Task): boolean => !isOpen(task) && task.error?.code === DEPENDENCY_FAILED;

const isFailedDependency = (task: Task): boolean => !isOpen(task) && task.status !== 'completed';

/** A missing dependency was completed: a failure would have been noticed. */
export const computeDependencyTransition = (
  task: Task,
  dependencies: Task[],
  when: TransitionContext,
): Change | 'unchanged' => {
  const broken = dependencies.find(isFailedDependency);
  if (isEndedByDependency(task)) return broken ? 'unchanged' : buildWaitAgainChange(task, when, SYSTEM_SENDER);
  if (task.status !== 'waiting') return 'unchanged';
  if (broken) return buildDependencyFailure(task, broken, when);
  if (!dependencies.every(({ status }) => status === 'completed')) return 'unchanged';
  const { notBefore = 0 } = task;
  const deadline = Math.max(notBefore, when.now) + task.ttlSeconds * 1000;
  const change =
    notBefore > when.now
      ? { set: { status: 'requested', deadline, due: notBefore } }
      : buildEnqueueChange(deadline, when);
  return { ...change, if: equals('v', task.v) };
};

const buildDependencyFailure = (task: Task, { id, status }: Task, when: TransitionContext): Change => {
  const message = `The task ${id}, for which it waited, ended ${status}.`;
  const error = { code: DEPENDENCY_FAILED, message, retryable: false, details: { taskId: id, status } };
  const change =
    task.onFailure === 'skip'
      ? mergeChanges(buildEndChange('cancelled', when), { set: { error, cancelledBy: SYSTEM_SENDER } })
      : buildFailureChange(task, when, error);
  return { ...change, if: equals('v', task.v) };
};

/** The timer then reconciles it. */
export const buildWaitAgainChange = (
  task: Task,
  { now }: TransitionContext,
  by: string,
  { reason, operationId }: ManualChange = {},
): Change => ({
  if: equals('v', task.v),
  set: {
    status: 'waiting',
    due: now + RECHECK_MS,
    byList: inboxKey(task),
    retriedBy: by,
    retryReason: reason,
    operationId,
  },
  unset: [
    ...(inboxKey(task) ? [] : ['byList']),
    'endedAt',
    'expires',
    'error',
    'cancelledBy',
    'cancelReason',
    ...(reason === undefined ? ['retryReason'] : []),
  ],
});
