import { PARLEY } from '../inbox/delivery.ts';
import { type Change, inOrder, is } from '../ports/conditions.ts';
import { endedAs, failed, inboxPlace, queued, type When } from './ends.ts';
import { isOpen, type Task } from './task.ts';
import { LOOK_AGAIN_MS } from './time.ts';

const DEPENDENCY_FAILED = 'dependency_failed';

/** Whether it ended without ever being queued, because of a task that it waited for. */
export const endedWaiting = (task: Task): boolean => !isOpen(task) && task.error?.code === DEPENDENCY_FAILED;

const hasFailed = (task: Task): boolean => !isOpen(task) && task.status !== 'completed';

/** What the tasks that it waits for make of a task. One that is no longer kept was completed: its failure would have been noticed. */
export const afterDependencies = (task: Task, dependencies: Task[], when: When): Change | 'unchanged' => {
  const broken = dependencies.find(hasFailed);
  if (endedWaiting(task)) return broken ? 'unchanged' : waitAgain(task, when);
  if (task.status !== 'waiting') return 'unchanged';
  if (broken) return withoutRunning(task, broken, when);
  if (!dependencies.every(({ status }) => status === 'completed')) return 'unchanged';
  return { ...queued(when.now + task.ttlSeconds * 1000, when), if: is('v', task.v) };
};

const withoutRunning = (task: Task, { id, status }: Task, when: When): Change => {
  const message = `The task ${id}, for which it waited, ended ${status}.`;
  const error = { code: DEPENDENCY_FAILED, message, retryable: false, details: { taskId: id, status } };
  const change =
    task.onFailure === 'skip'
      ? inOrder(endedAs('cancelled', when), { set: { error, cancelledBy: PARLEY } })
      : failed(task, when, error);
  return { ...change, if: is('v', task.v) };
};

/** As it was before it ended. It is then looked at, like any task that begins to wait. */
export const waitAgain = (task: Task, { now }: When): Change => ({
  if: is('v', task.v),
  set: { status: 'waiting', due: now + LOOK_AGAIN_MS, placed: inboxPlace(task) },
  unset: [...(inboxPlace(task) ? [] : ['placed']), 'endedAt', 'expires', 'error', 'cancelledBy'],
});
