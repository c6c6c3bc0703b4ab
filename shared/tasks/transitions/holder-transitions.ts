import type { AgentPause } from '../../identity/agents/agent-control.ts';
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
  requireRetryDelayOver,
  requireUnclaimed,
  type Transition,
  toConditionalUpdate,
} from './rules.ts';

export interface Actor extends TransitionContext {
  agent: string;
  /** Those of which it is handed everything. */
  domains: readonly string[];
  /** Its capabilities, for tasks that only a capability decides on. */
  capabilities: readonly string[];
  /** Why it may claim nothing now. */
  pause?: AgentPause;
  /** Its dialect, where that is logged. */
  holderLogDialect?: string;
}

interface ClaimParameters {
  /** The entry that the queue message carried. */
  queueGeneration?: number;
  /** The `due` that the task is believed to have. */
  due?: number;
  processedMessage?: ProcessedMessage;
  claimNote?: JsonObject;
  /** The name of the claim, where it has one. */
  claimId?: string;
  instance?: string;
  /** How long the lease is, where the claim names that. */
  leaseMs?: number;
  /** How long its holder thinks that it takes. */
  estimateMs?: number;
}

/** `requested → claimed`. */
export const buildClaimTransition = (
  task: Pick<Task, 'project' | 'id' | 'answerBy'>,
  by: Actor,
  { queueGeneration, due, processedMessage, claimNote, claimId, instance, leaseMs, estimateMs }: ClaimParameters,
): Transition => {
  const leaseUntil = by.now + Math.max(leaseMs ?? by.limits.leaseMs, capEstimateMs(by, estimateMs));
  // Moving `due` costs an index write. One that comes before the lease ends is left: when it comes, it is set anew.
  const keepsDue = due !== undefined && due <= leaseUntil;
  return {
    rules: [
      requireUnclaimed,
      requireNotExpired(by.now),
      requireRetryDelayOver(by.now),
      requireEligible(by),
      ...requireNotPaused(by),
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

/** As far as it is believed. */
const capEstimateMs = ({ limits }: Actor, estimateMs = 0): number => Math.min(estimateMs, limits.maxLeaseMs);

/** A message from the holder. */
export interface HolderMessage {
  processedMessage: ProcessedMessage;
  isIdentifiedByContent?: true;
  /** The attempt that it is about, where it says so. */
  attempt?: number;
  /** When its sender wrote it, where its readers find it in that order. */
  sequenceInfo?: SequenceInfo;
  /** What the log of messages says of it. */
  auditEntry?: JsonObject;
}

/** The claim as a message of its own. */
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

/** What its holder says of a claim. */
type ClaimNote = Required<Pick<ClaimParameters, 'claimNote'>> & Pick<ClaimParameters, 'estimateMs'>;

/** Only readers of the task see its earlier holders. */
const applyClaim = (task: Task, by: Actor, options: ClaimParameters): Change | ParleyError => {
  const change = applyTo(task, buildClaimTransition(task, by, options));
  if (change instanceof Error) return change;
  if (task.declinedBy?.includes(by.agent)) return taskDeclinedError(by.agent, task.id);
  return task.delegationChain?.includes(by.agent) ? delegationCycleError(by.agent, task.delegationChain) : change;
};

/** The holder has claimed it some other way, and this is the announcement of that. */
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

/** Where the estimate is longer than the lease is anyway. */
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

/** No sign of life shortens the lease that a claim named, or an estimate. */
const computeRenewedLease = ({ leaseMs, leaseUntil = 0 }: Task, { now, limits }: Actor): number =>
  Math.max(leaseUntil, now + (leaseMs ?? limits.leaseMs));

/** By another lease of the usual length, or of that which the task has, where it was seen. */
export const buildRenewTransition = (by: Actor, attempt?: number, task?: Task): Transition => ({
  rules: [requireHolder(by.agent), ...requireAttempt(attempt)],
  change: { set: { leaseUntil: task ? computeRenewedLease(task, by) : by.now + by.limits.leaseMs } },
});

/** Without a look at the task: where its lease is the usual one. */
export const buildOptimisticRenewal = (by: Actor, attempt?: number): Change =>
  toConditionalUpdate(
    buildRenewTransition(by, attempt),
    notExists('leaseMs'),
    lessThan('leaseUntil', by.now + by.limits.leaseMs),
  );

/** `→ completed`, without a look at the task: whoever holds it may end it. It then stands in its requester's inbox itself. */
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

/** `→ requested` once more, after a delay, while the error and the number of attempts allow it; else `→ failed`. Who waits for an answer may give up, too. */
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

/** `→ cancelled` by its holder, who gives it up for good. */
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

/** The holder cannot go on without an answer: the lease and the time to live stand still until it comes. */
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
        // A question stands in every inbox.
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

/** The same agent goes on, with the answer; or whoever claims the task next, where the question said so. */
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

/** A question that names a step is not asked again by a later attempt. */
const buildAnswerStepChange = (task: Task, answer: Json): Change | ParleyError => {
  const step = task.prompt?.step;
  return typeof step === 'string' && STEP_NAME.test(step) && getStep(task, step) === undefined
    ? buildStepChange(task, step, { json: answer })
    : {};
};

/** Where nobody holds the task, a report claims it in the same write: the claim may be late, or lost. */
export const claimThen = (task: Task, by: Actor, then: (held: Task) => Transition): Change | ParleyError => {
  if (task.status === 'input_required' && task.prompt?.resumable === true) return resumeThen(task, by, then);
  if (task.status !== 'requested') return applyTo(task, then(task));
  const taken = applyClaim(task, by, {});
  if (taken instanceof Error) return taken;
  const held: Task = { ...task, status: 'claimed', holder: by.agent, attempt: task.attempt + 1, claimedAt: by.now };
  const next = applyTo(held, then(held));
  return next instanceof Error ? next : mergeChanges(taken, next);
};

/** Who asked and may go on without an answer does so with its next report. */
const resumeThen = (task: Task, by: Actor, then: (held: Task) => Transition): Change | ParleyError => {
  const deadline = task.deadline + by.now - (task.askedAt ?? by.now);
  const leaseUntil = by.now + (task.leaseMs ?? by.limits.leaseMs);
  const held: Task = { ...task, status: 'in_progress', deadline, leaseUntil };
  const next = applyTo(held, then(held));
  if (next instanceof Error) return next;
  const lease = { status: 'in_progress', deadline, leaseUntil, due: leaseUntil };
  return mergeChanges({ set: lease, unset: ['prompt', 'askedAt'], if: next.if }, next);
};

/** That the message was carried out. */
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
