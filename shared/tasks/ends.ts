import type { ParleyError } from '../errors.ts';
import { inboxPk } from '../inbox/delivery.ts';
import { type Change, inOrder } from '../ports/conditions.ts';
import type { IndexKey } from '../ports/records.ts';
import { onSeen, open, retryable, type Transition } from './rules.ts';
import { failedPlace, placeInTime, type Status, type Task, type TaskError } from './task.ts';

export interface Limits {
  leaseMs: number;
  maxAttempts: number;
  /** How long a finished task is kept. */
  keepMs: number;
  /** A queue message that nobody saw for this long may be lost; the task is then sent again, ever more rarely. */
  resendMs: number;
  /** The delay before a failed attempt is first repeated; it doubles each time. */
  retryMs: number;
  longestRetryMs: number;
}

/** When something is done to a task, and under which limits. */
export interface When {
  now: number;
  limits: Limits;
}

interface End {
  now: number;
  limits: Pick<Limits, 'keepMs'>;
}

/** Whoever asked for it, or an administrator, no longer wants it. */
export const cancel = (who: string, when: End): Transition => ({
  rules: [open],
  change: inOrder(endedAs('cancelled', when), { set: { cancelledBy: who } }),
});

/** A failed or expired task runs again, with as many attempts as a new one. */
export const runAgain = (task: Task, when: When): Change | ParleyError =>
  onSeen(task, {
    rules: [retryable],
    change: inOrder(queued(when.now + task.ttlSeconds * 1000, when), {
      set: {
        maxAttempts: task.attempt + (task.retry?.maxAttempts ?? when.limits.maxAttempts),
        placed: inboxPlace(task),
      },
      unset: [
        ...HOLD,
        ...(inboxPlace(task) ? [] : ['placed']),
        'instance',
        'endedAt',
        'expires',
        'error',
        'failures',
        'outcomeCarried',
        'outcomeTold',
        'endedBy',
      ],
    }),
  });

/**
 * Where it will stand when it is completed. What belongs to a batch comes to its requester with the batch, and a requester on NATS
 * reads no inbox.
 */
export const inboxPlace = ({
  project,
  from,
  joins,
  fromNats,
}: Pick<Task, 'project' | 'from' | 'joins' | 'fromNats'>): IndexKey | undefined =>
  joins || fromNats ? undefined : { p: inboxPk(project, from) };

/**
 * When a queued task is first looked at: before its queue message could be lost, and no later than the lease of whoever
 * claims it would end, so that a claim need not move it.
 */
export const firstLook = (now: number, deadline: number, { resendMs, leaseMs }: Limits): number =>
  Math.min(deadline, now + Math.min(resendMs, leaseMs));

/** Back to the queue under the next entry. */
export const queued = (deadline: number, { now, limits }: When): Change => ({
  set: { status: 'requested', queuedAt: now, resent: 0, deadline, due: firstLook(now, deadline, limits) },
  unset: ['notBefore'],
  add: { entry: 1 },
});

export const endedAs = (status: Status, { now, limits }: End): Change => ({
  set: { status, endedAt: now, expires: now + limits.keepMs },
  unset: ['held', 'due', 'leaseUntil', 'notBefore', 'prompt', 'askedAt'],
});

/** Failed for good: a dead letter, in the list of those. */
export const failed = (task: Task, when: When, error: TaskError): Change =>
  inOrder(endedAs('failed', when), {
    set: { error, placed: placeInTime(failedPlace(task.project), when.now, task.id) },
  });

export const afterFailure = (task: Task, when: When, error: TaskError): Change => {
  const { now, limits } = when;
  const failures = countedFailures(task, error);
  const isOnceTooOften = failures !== undefined && (failures[error.code] ?? 0) >= (error.attempts ?? Infinity);
  if (!error.retryable || isOnceTooOften || task.attempt >= task.maxAttempts) return failed(task, when, error);
  const growing = delayMs(task, error, limits);
  const notBefore = now + (error.retryAfterSeconds === undefined ? growing : error.retryAfterSeconds * 1000);
  return {
    set: {
      status: 'requested',
      error,
      failures,
      notBefore,
      due: notBefore,
      deadline: notBefore + task.ttlSeconds * 1000,
    },
    unset: HOLD,
  };
};

/** With this one, where its kind is counted: the requester's own policy counts all attempts alike. */
const countedFailures = ({ failures = {}, retry }: Task, { code, attempts }: TaskError): Task['failures'] =>
  attempts === undefined || retry?.maxAttempts ? undefined : { ...failures, [code]: (failures[code] ?? 0) + 1 };

/** The requester's own policy comes before the rule of the error, and that before the usual doubling. */
const delayMs = ({ attempt, retry }: Task, error: TaskError, limits: Limits): number => {
  const first = retry?.initialMs ?? limits.retryMs;
  const delay = { fixed: first, linear: first * attempt, exponential: first * 2 ** (attempt - 1) };
  return Math.min(delay[retry?.backoff ?? error.backoff ?? 'exponential'], limits.longestRetryMs);
};

/** What a task forgets when its holder loses it. */
export const HOLD = [
  'held',
  'holder',
  'holderInstance',
  'heardIn',
  'claimedAt',
  'startedAt',
  'leaseUntil',
  'claimNote',
  'claimId',
  'progress',
  'prompt',
  'askedAt',
];
