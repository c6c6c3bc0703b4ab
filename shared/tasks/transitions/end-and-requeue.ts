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
  /** For leases of claims, and for estimates. */
  maxLeaseMs: number;
  /** How long heartbeats keep a task without a report. */
  maxSilentWorkMs: number;
  maxAttempts: number;
  retentionMs: number;
  /** Then the queue message may be lost. The pauses grow. */
  requeueMs: number;
  /** Doubled for each further attempt. */
  retryMs: number;
  maxRetryMs: number;
}

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

/** Why somebody cancels or retries a task, and the operation that does it, if one does. */
export interface ManualChange {
  reason?: string | undefined;
  operationId?: string | undefined;
}

/** By the requester or an administrator. */
export const buildCancelTransition = (who: string, when: EndContext, change: ManualChange = {}): Transition => ({
  rules: [requireOpen],
  change: mergeChanges(buildEndChange('cancelled', when), {
    set: { cancelledBy: who, cancelReason: change.reason, operationId: change.operationId },
  }),
});

/** With all attempts again. */
export const buildRetryChange = (
  task: Task,
  when: TransitionContext,
  by: string,
  { reason, operationId }: ManualChange = {},
): Change | ParleyError =>
  applyTo(task, {
    rules: [requireRetryable],
    change: mergeChanges(buildEnqueueChange(when.now + task.ttlSeconds * 1000, when), {
      set: {
        answerBy: task.answerBy && when.now + task.ttlSeconds * 1000,
        maxAttempts: countSpentAttempts(task) + (task.retry?.maxAttempts ?? when.limits.maxAttempts),
        byList: inboxKey(task),
        retriedBy: by,
        retryReason: reason,
        operationId,
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
        ...(reason === undefined ? ['retryReason'] : []),
      ],
    }),
  });

/** Set at creation; the completing write adds the sort key. Items of a batch and requesters on NATS have none. */
export const inboxKey = ({
  project,
  from,
  batchMembership,
  fromNats,
}: Pick<Task, 'project' | 'from' | 'batchMembership' | 'fromNats'>): IndexKey | undefined =>
  batchMembership || fromNats ? undefined : { pk: inboxPk(project, from) };

/**
 * Before the queue message may be lost, and not after the lease of a claim would end, so a claim need not change it.
 */
export const computeFirstCheckAt = (now: number, deadline: number, { requeueMs, leaseMs }: TaskLimits): number =>
  Math.min(deadline, now + Math.min(requeueMs, leaseMs));

/** With the next generation. */
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

/** A dead letter, in its index. */
const buildDeadLetterChange = (status: 'failed' | 'expired', task: Task, when: TransitionContext): Change =>
  mergeChanges(buildEndChange(status, when), {
    set: { byList: timeOrderedKey(failedListKey(task.project), when.now, task.id) },
  });

export const buildFailureChange = (task: Task, when: TransitionContext, error: TaskError): Change =>
  mergeChanges(buildDeadLetterChange('failed', task, when), { set: { error } });

export const buildExpiryChange = (task: Task, when: TransitionContext): Change =>
  buildDeadLetterChange('expired', task, when);

/** Further releases count as attempts. */
const MAX_UNCOUNTED_ATTEMPTS = 100;

/**
 * Queued at once. After the time to live, or too many releases, it counts as a failed attempt, so no task is released
 * forever.
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

/** If the error has its own limit. A policy of the requester counts all errors. */
const countFailure = ({ failures = {}, retry }: Task, { code, attempts }: TaskError): Task['failures'] =>
  attempts === undefined || retry?.maxAttempts ? undefined : { ...failures, [code]: (getOwn(failures, code) ?? 0) + 1 };

/** The requester's policy, then the rule of the error, then doubling. */
const computeRetryDelayMs = (task: Task, error: TaskError, limits: TaskLimits): number => {
  const { retry } = task;
  const attempt = Math.max(1, countSpentAttempts(task));
  const first = retry?.initialMs ?? limits.retryMs;
  const delay = { fixed: first, linear: first * attempt, exponential: first * 2 ** (attempt - 1) };
  return Math.min(delay[retry?.backoff ?? error.backoff ?? 'exponential'], limits.maxRetryMs);
};

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
