import type { Deps } from '../../identity/deps.ts';
import type { ParleyError } from '../../kernel/errors.ts';
import { getOwn } from '../../model/agent-state.ts';
import { inboxPk } from '../../model/delivery.ts';
import {
  capByAnswer,
  countSpentAttempts,
  failedListKey,
  type Task,
  type TaskError,
  type TaskStatus,
  timeOrderedKey,
} from '../../model/task.ts';
import { type Change, mergeChanges } from '../../ports/conditions.ts';
import type { IndexKey } from '../../ports/records.ts';
import { applyTo, requireOpen, requireRetryable, type Transition } from './rules.ts';

export interface TaskLimits {
  leaseMs: number;
  /** What a claim may name as its lease, and how far an estimate lengthens it, at the most. */
  maxLeaseMs: number;
  /** How long signs of life of its holder keep a task of which it says nothing. */
  maxSilentWorkMs: number;
  maxAttempts: number;
  /** How long a finished task is kept. */
  retentionMs: number;
  /** A queue message that nobody saw for this long may be lost; the task is then sent again, ever more rarely. */
  requeueMs: number;
  /** The delay before a failed attempt is first repeated; it doubles each time. */
  retryMs: number;
  maxRetryMs: number;
}

/** When something is done to a task, and under which limits. */
export interface TransitionContext {
  now: number;
  limits: TaskLimits;
}

export const toTransitionContext = ({ clock, config }: Deps): TransitionContext => ({
  now: clock.now(),
  limits: config.tasks,
});

interface EndContext {
  now: number;
  limits: Pick<TaskLimits, 'retentionMs'>;
}

/** Whoever asked for it, or an administrator, no longer wants it. */
export const buildCancelTransition = (who: string, when: EndContext): Transition => ({
  rules: [requireOpen],
  change: mergeChanges(buildEndChange('cancelled', when), { set: { cancelledBy: who } }),
});

/** A failed or expired task runs again, with as many attempts as a new one. */
export const buildRetryChange = (task: Task, when: TransitionContext, by: string): Change | ParleyError =>
  applyTo(task, {
    rules: [requireRetryable],
    change: mergeChanges(buildEnqueueChange(when.now + task.ttlSeconds * 1000, when), {
      set: {
        answerBy: task.answerBy && when.now + task.ttlSeconds * 1000,
        maxAttempts: countSpentAttempts(task) + (task.retry?.maxAttempts ?? when.limits.maxAttempts),
        byList: inboxKey(task),
        retriedBy: by,
      },
      unset: [
        ...LEASE_FIELDS,
        ...(inboxKey(task) ? [] : ['byList']),
        'instance',
        'declinedBy',
        'endedAt',
        'expires',
        'error',
        'failures',
        'outcomeExtensions',
        'outcomeAuditEntry',
        'endMessage',
      ],
    }),
  });

/**
 * Where it will stand when it is completed. What belongs to a batch comes to its requester with the batch, and a requester on NATS
 * reads no inbox.
 */
export const inboxKey = ({
  project,
  from,
  batchMembership,
  fromNats,
}: Pick<Task, 'project' | 'from' | 'batchMembership' | 'fromNats'>): IndexKey | undefined =>
  batchMembership || fromNats ? undefined : { pk: inboxPk(project, from) };

/**
 * When a queued task is first looked at: before its queue message could be lost, and no later than the lease of whoever
 * claims it would end, so that a claim need not move it.
 */
export const computeFirstCheckAt = (now: number, deadline: number, { requeueMs, leaseMs }: TaskLimits): number =>
  Math.min(deadline, now + Math.min(requeueMs, leaseMs));

/** Back to the queue under the next entry. */
export const buildEnqueueChange = (deadline: number, { now, limits }: TransitionContext): Change => ({
  set: {
    status: 'requested',
    queuedAt: now,
    requeueCount: 0,
    deadline,
    due: computeFirstCheckAt(now, deadline, limits),
  },
  unset: ['notBefore'],
  add: { queueGeneration: 1 },
});

export const buildEndChange = (status: TaskStatus, { now, limits }: EndContext): Change => ({
  set: { status, endedAt: now, expires: now + limits.retentionMs },
  unset: ['byHolder', 'due', 'leaseUntil', 'notBefore', 'prompt', 'askedAt'],
});

/** Failed for good: a dead letter, in the list of those. */
export const buildFailureChange = (task: Task, when: TransitionContext, error: TaskError): Change =>
  mergeChanges(buildEndChange('failed', when), {
    set: { error, byList: timeOrderedKey(failedListKey(task.project), when.now, task.id) },
  });

/** So many attempts count for nothing; each further one that is given back counts. */
const MAX_UNCOUNTED_ATTEMPTS = 100;

/**
 * Back to its queue at once, as if it had not been claimed. After its time to live, or where that was done too often, it counts as an
 * attempt that failed, so that no worker can go round in a circle for ever.
 */
export const buildReleaseChange = (task: Task, when: TransitionContext): Change => {
  if (task.deadline > when.now && (task.uncountedAttempts ?? 0) < MAX_UNCOUNTED_ATTEMPTS) {
    return mergeChanges(buildEnqueueChange(task.deadline, when), {
      unset: LEASE_FIELDS,
      add: { uncountedAttempts: 1 },
    });
  }
  const message = `${task.holder} gave the task back.`;
  const error = { code: 'released', message, retryable: true, retryAfterSeconds: 0, agent: task.holder };
  return buildRetryOrFailChange(task, when, error);
};

export const buildRetryOrFailChange = (task: Task, when: TransitionContext, error: TaskError): Change => {
  const { now, limits } = when;
  const failures = countFailure(task, error);
  const isOnceTooOften = failures !== undefined && (getOwn(failures, error.code) ?? 0) >= (error.attempts ?? Infinity);
  const growing = computeRetryDelayMs(task, error, limits);
  const notBefore = now + (error.retryAfterSeconds === undefined ? growing : error.retryAfterSeconds * 1000);
  const isTooLate = capByAnswer(task, Infinity) <= notBefore;
  if (!error.retryable || isOnceTooOften || isTooLate || countSpentAttempts(task) >= task.maxAttempts)
    return buildFailureChange(task, when, error);
  return {
    set: {
      status: 'requested',
      error,
      failures,
      notBefore,
      due: notBefore,
      deadline: capByAnswer(task, notBefore + task.ttlSeconds * 1000),
    },
    unset: LEASE_FIELDS,
  };
};

/** With this one, where its kind is counted: the requester's own policy counts all attempts alike. */
const countFailure = ({ failures = {}, retry }: Task, { code, attempts }: TaskError): Task['failures'] =>
  attempts === undefined || retry?.maxAttempts ? undefined : { ...failures, [code]: (getOwn(failures, code) ?? 0) + 1 };

/** The requester's own policy comes before the rule of the error, and that before the usual doubling. */
const computeRetryDelayMs = (task: Task, error: TaskError, limits: TaskLimits): number => {
  const { retry } = task;
  const attempt = Math.max(1, countSpentAttempts(task));
  const first = retry?.initialMs ?? limits.retryMs;
  const delay = { fixed: first, linear: first * attempt, exponential: first * 2 ** (attempt - 1) };
  return Math.min(delay[retry?.backoff ?? error.backoff ?? 'exponential'], limits.maxRetryMs);
};

/** What a task forgets when its holder loses it. */
export const LEASE_FIELDS = [
  'byHolder',
  'holder',
  'holderInstance',
  'holderLogDialect',
  'claimedAt',
  'startedAt',
  'leaseUntil',
  'leaseMs',
  'claimNote',
  'claimId',
  'progress',
  'prompt',
  'askedAt',
];
