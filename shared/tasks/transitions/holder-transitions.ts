import type { AgentPause } from '../../identity/agents/agent-control.ts';
import type { PausedQueues } from '../../identity/queue-pauses.ts';
import type { ParleyError } from '../../kernel/errors.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import type { AskMessage, SequenceInfo } from '../../model/command.ts';
import { inboxSortKey } from '../../model/delivery.ts';
import { toQuestion } from '../../model/history.ts';
import { buildStepChange, getStep, STEP_NAME } from '../../model/step.ts';
import {
  capByAnswer,
  getDedupRound,
  holderKey,
  MAX_PROCESSED_MESSAGES,
  type ProcessedMessage,
  type Progress,
  type Task,
  type TaskError,
  timeOrderedKey,
} from '../../model/task.ts';
import { type Change, lessThan, mergeChanges, notExists } from '../../ports/conditions.ts';
import type { StoredContent } from '../../storage/content.ts';
import { delegationCycleError, taskDeclinedError } from '../dependencies/lineage.ts';
import {
  buildEndChange,
  buildEnqueueChange,
  buildRetryOrFailChange,
  LEASE_FIELDS,
  type TransitionContext,
} from './end-and-requeue.ts';
import {
  applyTo,
  requireAssignedTo,
  requireAttempt,
  requireDue,
  requireEligible,
  requireHolder,
  requireInputRequired,
  requireNotExpired,
  requireNotPaused,
  requireQueueGeneration,
  requireQueueNotPaused,
  requireRetryDelayOver,
  requireUnclaimed,
  type Transition,
  toConditionalUpdate,
} from './rules.ts';

export interface Actor extends TransitionContext {
  agent: string;
  /** Domains that the agent serves completely. */
  domains: readonly string[];
  /** Declared capabilities. */
  capabilities: readonly string[];
  pause?: AgentPause;
  /** Those whose tasks nobody may claim. */
  pausedQueues?: PausedQueues;
  /** If it is audited. */
  holderLogDialect?: string;
}

interface ClaimParameters {
  /** Of the queue message. */
  queueGeneration?: number;
  /** Of the queue message. */
  due?: number;
  processedMessage?: ProcessedMessage;
  claimNote?: JsonObject;
  claimId?: string;
  instance?: string;
  /** Of the claim. */
  leaseMs?: number;
  /** The holder's estimate. */
  estimateMs?: number;
}

/** `requested → claimed`. */
export const buildClaimTransition = (
  task: Pick<Task, 'project' | 'id' | 'answerBy'>,
  by: Actor,
  { queueGeneration, due, processedMessage, claimNote, claimId, instance, leaseMs, estimateMs }: ClaimParameters,
): Transition => {
  const leaseUntil = by.now + Math.max(leaseMs ?? by.limits.leaseMs, capEstimateMs(by, estimateMs));
  // A changed `due` costs an index write. An earlier timer is kept, and sets the next one.
  const keepsDue = due !== undefined && due <= leaseUntil;
  return {
    rules: [
      requireUnclaimed,
      requireNotExpired(by.now),
      requireRetryDelayOver(by.now),
      requireEligible(by),
      ...requireNotPaused(by),
      ...requireQueueNotPaused(by),
      ...(queueGeneration === undefined ? [] : [requireQueueGeneration(queueGeneration)]),
      ...(keepsDue ? [requireDue(due)] : []),
    ],
    change: {
      set: {
        status: 'claimed',
        holder: by.agent,
        holderInstance: instance,
        holderLogDialect: by.holderLogDialect,
        claimedAt: by.now,
        leaseUntil,
        leaseMs,
        byHolder: timeOrderedKey(holderKey(task.project, by.agent), by.now, task.id),
        due: keepsDue ? undefined : capByAnswer(task, leaseUntil),
        claimMessage: processedMessage,
        claimNote,
        claimId,
      },
      // Artifacts of an earlier attempt do not count.
      unset: ['notBefore', 'artifacts'],
      add: { attempt: 1 },
    },
  };
};

/** Whether the change gives an unclaimed task a holder who goes on with it. */
export const isClaimOf = (task: Task, change: Change | ParleyError | 'unchanged'): change is Change =>
  task.status === 'requested' &&
  change !== 'unchanged' &&
  !(change instanceof Error) &&
  ASSIGNED_STATUSES.has(change.set?.status);
const ASSIGNED_STATUSES = new Set<unknown>(['claimed', 'in_progress', 'input_required'] satisfies Task['status'][]);

/** Limited by the configuration. */
const capEstimateMs = ({ limits }: Actor, estimateMs = 0): number => Math.min(estimateMs, limits.maxLeaseMs);

export interface HolderMessage {
  processedMessage: ProcessedMessage;
  isIdentifiedByContent?: true;
  attempt?: number;
  /** If its readers sort by it. */
  sequenceInfo?: SequenceInfo;
  auditEntry?: JsonObject;
}

/** A claim by a message. */
export const claimByMessage = (
  task: Task,
  by: Actor,
  report: HolderMessage,
  { claimNote, estimateMs }: ClaimNote,
): Change | ParleyError =>
  applyClaim(task, by, {
    due: task.due,
    processedMessage: toProcessedMessage(getDedupRound(task) + 1, report),
    claimNote,
    estimateMs,
  });

type ClaimNote = Required<Pick<ClaimParameters, 'claimNote'>> & Pick<ClaimParameters, 'estimateMs'>;

/** Only readers of the task see its earlier holders. */
const applyClaim = (task: Task, by: Actor, options: ClaimParameters): Change | ParleyError => {
  const change = applyTo(task, buildClaimTransition(task, by, options));
  if (change instanceof Error) return change;
  if (task.declinedBy?.includes(by.agent)) return taskDeclinedError(by.agent, task.id);
  return task.delegationChain?.includes(by.agent) ? delegationCycleError(by.agent, task.delegationChain) : change;
};

/** A claim message for a task that is already claimed. */
export const recordClaimNote = (
  task: Task,
  by: Actor,
  report: HolderMessage,
  { claimNote, estimateMs }: ClaimNote,
): Change | ParleyError =>
  applyTo(task, {
    rules: [requireAssignedTo(by.agent)],
    change: {
      set: {
        claimMessage: toProcessedMessage(getDedupRound(task), report),
        claimNote,
        leaseUntil: computeExtendedLease(task, by, estimateMs),
      },
    },
  });

/** Undefined if the lease is longer. */
const computeExtendedLease = (
  { leaseUntil, claimedAt = 0 }: Task,
  by: Actor,
  estimateMs?: number,
): number | undefined => {
  const until = claimedAt + capEstimateMs(by, estimateMs);
  return leaseUntil !== undefined && until > leaseUntil ? until : undefined;
};

const requireHolderAttempt = (by: Actor, report: HolderMessage) => [
  requireHolder(by.agent),
  ...requireAttempt(report.attempt),
];

/** `→ in_progress`, with a new lease. */
export const recordProgress = (task: Task, by: Actor, report: HolderMessage, update: Progress): Change | ParleyError =>
  claimThen(task, by, (held) => ({
    rules: requireHolderAttempt(by, report),
    change: {
      set: {
        status: 'in_progress',
        progress: update,
        leaseUntil: computeRenewedLease(held, by),
        startedAt: held.startedAt ?? by.now,
        ...buildProcessedFields(held, report),
      },
    },
  }));

/** A renewal never shortens a lease. */
const computeRenewedLease = ({ leaseMs, leaseUntil = 0 }: Task, { now, limits }: Actor): number =>
  Math.max(leaseUntil, now + (leaseMs ?? limits.leaseMs));

/** With the usual lease, or the longer one of the task. */
export const buildRenewTransition = (by: Actor, attempt?: number, task?: Task): Transition => ({
  rules: [requireHolder(by.agent), ...requireAttempt(attempt)],
  change: {
    set: { leaseUntil: task ? computeRenewedLease(task, by) : by.now + by.limits.leaseMs, leaseMs: task?.leaseMs },
  },
});

/** A blind write for the usual lease. */
export const buildOptimisticRenewal = (by: Actor, attempt?: number): Change =>
  toConditionalUpdate(
    buildRenewTransition(by, attempt),
    notExists('leaseMs'),
    lessThan('leaseUntil', by.now + by.limits.leaseMs),
  );

/** `→ completed` as a blind write. The task is then in the index of its requester's inbox. */
export const buildCompleteTransition = (
  by: Actor,
  report: HolderMessage,
  output: StoredContent,
  extensions: JsonObject,
  { confidence }: { confidence?: number } = {},
): Transition => ({
  rules: requireHolderAttempt(by, report),
  change: mergeChanges(buildEndChange('completed', by), {
    set: {
      output,
      outcomeExtensions: extensions,
      outcomeAuditEntry: report.auditEntry,
      endMessage: report.processedMessage,
      'byList.sk': inboxSortKey(
        report.sequenceInfo?.at ?? by.now,
        report.processedMessage.id,
        report.sequenceInfo?.sequence,
      ),
      confidence,
    },
    unset: ['error'],
  }),
});

/**
 * `→ requested` after a delay while the error and the attempts allow it, otherwise `→ failed`. Also while it waits
 * for an answer.
 */
export const failAsHolder = (
  task: Task,
  by: Actor,
  report: HolderMessage,
  error: TaskError,
  extensions: JsonObject,
): Change | ParleyError =>
  claimThen(task, by, (held) => {
    const change = buildRetryOrFailChange(held, by, { ...error, agent: by.agent });
    const isEnd = change.set?.status === 'failed';
    const said = {
      ...buildProcessedFields(held, report),
      endMessage: isEnd ? report.processedMessage : undefined,
      outcomeExtensions: extensions,
      outcomeAuditEntry: report.auditEntry,
    };
    return {
      rules: [requireAssignedTo(by.agent), ...requireAttempt(report.attempt)],
      change: mergeChanges(change, { set: said }),
    };
  });

/** `→ cancelled` by its holder, for good. */
export const cancelAsHolder = (
  task: Task,
  by: Actor,
  report: HolderMessage,
  error: TaskError,
  extensions: JsonObject,
): Change | ParleyError =>
  claimThen(task, by, () => ({
    rules: [requireAssignedTo(by.agent), ...requireAttempt(report.attempt)],
    change: mergeChanges(buildEndChange('cancelled', by), {
      set: {
        cancelledBy: by.agent,
        error: { ...error, agent: by.agent },
        endMessage: report.processedMessage,
        outcomeExtensions: extensions,
        outcomeAuditEntry: report.auditEntry,
      },
    }),
  }));

/** Lease and time to live stop until the answer. */
export const requestInput = (
  task: Task,
  by: Actor,
  report: HolderMessage,
  { prompt, extensions = {}, progress }: Pick<AskMessage, 'prompt' | 'extensions' | 'progress'>,
): Change | ParleyError =>
  claimThen(task, by, (held) => ({
    rules: requireHolderAttempt(by, report),
    change: {
      set: {
        status: 'input_required',
        prompt,
        askedAt: by.now,
        hasAsked: true,
        progress: progress && { ...progress, auditEntry: report.auditEntry, at: by.now },
        outcomeExtensions: extensions,
        // Questions are in every inbox.
        ...buildProcessedFields({ ...held, reportsToInbox: true }, report),
        outcomeAuditEntry: report.auditEntry,
        due: task.answerBy,
      },
      unset: task.answerBy === undefined ? ['due', 'leaseUntil'] : ['leaseUntil'],
    },
  }));

interface Answerer {
  agent: string;
  messageId?: string | undefined;
  extensions?: JsonObject | undefined;
}

/** For the same holder, or for the next one if the question says so. */
export const provideInput = (
  task: Task,
  when: TransitionContext,
  answer: Json,
  { agent: by, messageId, extensions = {} }: Answerer,
): Change | ParleyError => {
  const step = buildAnswerStepChange(task, answer);
  if (step instanceof Error) return step;
  const { now, limits } = when;
  const deadline = capByAnswer(task, task.deadline + now - (task.askedAt ?? now));
  const leaseUntil = now + (task.leaseMs ?? limits.leaseMs);
  const next: Change =
    task.prompt?.requeue === true
      ? mergeChanges(buildEnqueueChange(capByAnswer(task, Math.max(deadline, now + task.ttlSeconds * 1000)), when), {
          unset: LEASE_FIELDS,
          add: { uncountedAttempts: 1 },
        })
      : { set: { status: 'claimed', deadline, leaseUntil, due: capByAnswer(task, leaseUntil) } };
  const answered: Change = {
    set: { answer, lastAnswer: { ...toQuestion(task), at: now, by, messageId }, outcomeExtensions: extensions },
    unset: ['prompt', 'askedAt'],
    add: { answerCount: 1 },
  };
  return applyTo(task, { rules: [requireInputRequired], change: mergeChanges(next, answered, step) });
};

/** Later attempts do not repeat it. */
const buildAnswerStepChange = (task: Task, answer: Json): Change | ParleyError => {
  const step = task.prompt?.step;
  return typeof step === 'string' && STEP_NAME.test(step) && getStep(task, step) === undefined
    ? buildStepChange(task, step, { json: answer })
    : {};
};

/** A report on an unclaimed task claims it in the same write: the claim may be late or lost. */
export const claimThen = (task: Task, by: Actor, then: (held: Task) => Transition): Change | ParleyError => {
  if (task.status === 'input_required' && task.prompt?.resumable === true) return resumeThen(task, by, then);
  if (task.status !== 'requested') return applyTo(task, then(task));
  const taken = applyClaim(task, by, {});
  if (taken instanceof Error) return taken;
  const held: Task = { ...task, status: 'claimed', holder: by.agent, attempt: task.attempt + 1, claimedAt: by.now };
  const next = applyTo(held, then(held));
  return next instanceof Error ? next : mergeChanges(taken, next);
};

/** An optional question ends with the next report. */
const resumeThen = (task: Task, by: Actor, then: (held: Task) => Transition): Change | ParleyError => {
  const deadline = task.deadline + by.now - (task.askedAt ?? by.now);
  const leaseUntil = by.now + (task.leaseMs ?? by.limits.leaseMs);
  const held: Task = { ...task, status: 'in_progress', deadline, leaseUntil };
  const next = applyTo(held, then(held));
  if (next instanceof Error) return next;
  const lease = { status: 'in_progress', deadline, leaseUntil, due: leaseUntil };
  return mergeChanges({ set: lease, unset: ['prompt', 'askedAt'], if: next.if }, next);
};

export const buildProcessedFields = (
  task: Task,
  report: HolderMessage,
): Pick<Task, 'processedMessages' | 'reportedAs'> => {
  const { processedMessage, sequenceInfo } = report;
  const processed = [...(task.processedMessages ?? []), toProcessedMessage(getDedupRound(task), report)];
  const isOrdered = task.reportsToInbox && sequenceInfo;
  return {
    processedMessages: processed.slice(-MAX_PROCESSED_MESSAGES),
    ...(isOrdered && { reportedAs: { id: processedMessage.id, at: sequenceInfo.at, sequence: sequenceInfo.sequence } }),
  };
};

const toProcessedMessage = (
  round: number,
  { processedMessage, isIdentifiedByContent }: HolderMessage,
): ProcessedMessage => (isIdentifiedByContent ? { ...processedMessage, round } : processedMessage);
