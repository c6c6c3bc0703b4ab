import { type Change, inOrder, is } from '../ports/conditions.ts';
import { afterFailure, endedAs, failed, HOLD, type Limits, queued, type When } from './ends.ts';
import type { Task, TaskError } from './task.ts';

/** How often a task that waits for others is looked at without any news of them. */
export const LOOK_AGAIN_MS = 86_400_000;

/** When the task must next be looked at. Its `due` is never later than this; it may be earlier. */
export const nextLook = (task: Task, limits: Limits): number | undefined => {
  if (task.endedAt !== undefined || task.status === 'input_required') return undefined;
  if (task.status === 'waiting') return task.at + LOOK_AGAIN_MS;
  if (task.status !== 'requested') return task.leaseUntil;
  if (task.notBefore !== undefined) return task.notBefore;
  return Math.min(task.deadline, task.queuedAt + limits.resendMs * 2 ** task.resent, acknowledgement(task));
};

/** Whoever has claimed it once has acknowledged it. */
const acknowledgement = ({ acknowledgeBy = Infinity, unacknowledgedAt, attempt }: Task): number =>
  unacknowledgedAt === undefined && attempt === 0 ? acknowledgeBy : Infinity;

/** What time alone does to a task whose `due` has come, if nobody wrote in between. */
export const pass = (task: Task, when: When): Change => ({ ...passed(task, when), if: is('v', task.v) });

/** Queued once more, for whoever of its agent comes first; unless something else is due. */
export const forAnyInstance = (task: Task, when: When): Change =>
  task.notBefore === undefined && task.deadline > when.now
    ? { ...inOrder(queued(task.deadline, when), { unset: ['instance'] }), if: is('v', task.v) }
    : pass(task, when);

const passed = (task: Task, when: When): Change => {
  const look = nextLook(task, when.limits);
  if (look === undefined) return { unset: ['due'] };
  if (look > when.now) return { set: { due: look } };
  // Whatever is written to a task that waits has it looked at.
  if (task.status === 'waiting') return { set: { due: when.now + LOOK_AGAIN_MS } };
  if (task.status !== 'requested') return leaseLost(task, when);
  if (task.notBefore !== undefined) return queued(task.deadline, when);
  if (task.deadline <= when.now) return endedAs('expired', when);
  if (acknowledgement(task) <= when.now) {
    const unacknowledgedAt = when.now;
    return { set: { unacknowledgedAt, due: nextLook({ ...task, unacknowledgedAt }, when.limits) } };
  }
  // The same entry once more: where its first message still waits, that one keeps its place in the order.
  const resent = task.resent + 1;
  return { set: { resent, due: nextLook({ ...task, resent }, when.limits) } };
};

const leaseLost = (task: Task, when: When): Change => {
  const error: TaskError = {
    code: 'timeout',
    message: `The lease ran out without a sign of life from ${task.holder}.`,
    retryable: true,
    agent: task.holder,
  };
  if (task.attempt >= task.maxAttempts) return failed(task, when, error);
  if (task.deadline <= when.now) return afterFailure(task, when, error);
  return inOrder(queued(task.deadline, when), { set: { error }, unset: HOLD });
};
