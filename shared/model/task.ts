import { hash } from 'node:crypto';
import { buildDomainWildcard } from '../identity/agents/agent.ts';
import type { TaskLimit } from '../identity/limit-rules.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import type { Priority, QueueKey } from '../ports/queues.ts';
import type { IndexKey, Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';
import type { StoredArtifacts } from './artifact.ts';

export const TASK_STATUSES = [
  'waiting',
  'requested',
  'claimed',
  'in_progress',
  'input_required',
  'completed',
  'failed',
  'expired',
  'cancelled',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export const TERMINAL_STATUSES = ['completed', 'failed', 'expired', 'cancelled'] as const satisfies TaskStatus[];
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
/** Undefined while the task is open. */
export const getTerminalStatus = ({ status }: Task): TerminalStatus | undefined =>
  TERMINAL_STATUSES.find((end) => end === status);

export type TaskEventType = `task.${
  | 'requested'
  | 'unacknowledged'
  | 'claimed'
  | 'progress'
  | 'retrying'
  | 'ready'
  | 'released'
  | 'input_required'
  | 'input_given'
  | 'completed'
  | 'failed'
  | 'expired'
  | 'cancelled'}`;

/** Not after the deadline of its answer. */
export const capByAnswer = ({ answerBy = Infinity }: Pick<Task, 'answerBy'>, at: number): number =>
  Math.min(at, answerBy);

export const isOpen = (task: Task): boolean => task.endedAt === undefined;
export const isHeld = (task: Task): boolean => task.status === 'claimed' || task.status === 'in_progress';
/** Also while it waits for an answer. */
export const isAssigned = (task: Task): boolean => isHeld(task) || task.status === 'input_required';
/** If a dependency ends otherwise than completed. A skipped task is cancelled. */
export const ON_FAILURE = ['fail', 'skip'] as const;
export type OnFailure = (typeof ON_FAILURE)[number];

/** A DynamoDB transaction takes 100 writes: the task, the link to its parent, the parent, and two per dependency. */
export const MAX_DEPENDENCIES = 48;

export interface BatchMembership {
  batchId: string;
  index: number;
}

type Backoff = 'exponential' | 'linear' | 'fixed';

/** The requester's policy, which overrides the rule of the error. */
export interface RetryPolicy {
  maxAttempts?: number;
  backoff?: Backoff;
  initialMs?: number;
}

export interface TaskError {
  code: string;
  message: string;
  retryable: boolean;
  /** The holder's own statement, if it differs: wrong input can be corrected, but the same input is not retried. */
  recoverable?: boolean;
  retryAfterSeconds?: number;
  /** The attempts that may end with this error, if it has its own limit. */
  attempts?: number;
  /** If this error has its own. */
  backoff?: Backoff;
  agent?: string;
  details?: JsonObject;
}

export interface Progress {
  at: number;
  percent?: number;
  message?: string;
  subTasks?: Json[];
  blockers?: string[];
  /** 0 to 1. */
  confidence?: number;
  /** Fields without a place in a task. */
  extensions?: JsonObject;
  auditEntry?: JsonObject;
}

/** The last answered question. The answer itself is a field of the task. */
export interface AnsweredQuestion {
  askedAt: number;
  agent?: string;
  attempt: number;
  question?: string;
  at: number;
  by: string;
  /** If the answer was a message. */
  messageId?: string | undefined;
}

/** By the sender's clock and sequence number. */
export interface SentOrder {
  at: number;
  sequence: number;
}

/** An executed message: the same id is a repetition, or an error if its content differs. */
export interface ProcessedMessage {
  id: string;
  fingerprint: string;
  /** Set if the id is a hash of the content. */
  round?: number;
}

/** A new round starts with each claim and each answer. */
export const getDedupRound = ({ attempt, answerCount = 0 }: Pick<Task, 'attempt' | 'answerCount'>): number =>
  attempt + answerCount;

/** Whether an agent of the task may have several deliveries: there was a question, or it was queued again. */
export const hasSeveralInboxEntries = ({
  hasAsked,
  queueGeneration,
}: Pick<Task, 'hasAsked' | 'queueGeneration'>): boolean => hasAsked === true || queueGeneration > 1;

/** Whether the write added a processed message. */
export const hasReported = (before: Task, after: Task): boolean => {
  const [last, newest] = [before.processedMessages?.at(-1), after.processedMessages?.at(-1)];
  return last?.id !== newest?.id || last?.round !== newest?.round;
};

/** The record exists once, so a task cannot be created twice. */
export interface Task extends Item {
  sk: 'task';
  project: string;
  id: string;
  dialect: string;
  status: TaskStatus;
  priority: Priority;
  from: string;
  to?: string;
  /** The instance of `to` that gets it, if it is live. */
  instance?: string;
  /** The instance that requested it, which gets the outcome while it is live. */
  fromInstance?: string;
  /** Absent for a capability without a domain. */
  domain?: string;
  capability: string;
  /** Set if the capability has its own queue: it has no domain, or an agent declares it. */
  routingCapability?: string;
  /** Agents that declined it and do not get it again. */
  declinedBy?: string[];
  /** Set if its workers are on NATS, or on both sides. */
  deliveryTarget?: 'nats' | 'both';
  /** Its requester is on NATS. */
  fromNats?: true;
  /** Its changes are pushed to those who asked for that. */
  hasPush?: true;
  /** Its requester gets all reports in its inbox, or the progress. */
  reportsToInbox?: true | 'progress';
  /** Set if its worker finds the request in its inbox. */
  requestedAs?: SentOrder;
  parent?: string;
  conversation?: string;
  /** The end user. */
  user?: string;
  /** The requester's own reference. */
  requestId?: string;
  /** Earlier holders of the work, the requester last. */
  delegationChain?: string[];
  /** Subtasks; absent for none. */
  childCount?: number;
  /** Tasks that must be completed before it is queued. */
  dependencyIds?: string[];
  onFailure?: OnFailure;
  batchMembership?: BatchMembership;
  graph?: string;
  /** The ended task that it runs again, and the last one that runs this one again. */
  rerunOf?: string;
  rerunAs?: string;
  /** Tasks that depend on it; absent for none. */
  dependentCount?: number;
  createdAt: number;
  ttlSeconds: number;
  /** Epoch milliseconds: it expires if nobody has claimed it. */
  deadline: number;
  /** It expires even while it is claimed, if the time to live limits the answer. `due` is never later. */
  answerBy?: number;
  /** Rises when the task returns to its queue. Only the queue message of the current generation can claim it. */
  queueGeneration: number;
  queuedAt: number;
  /** Its turn among the tasks of others, where the engine orders a queue by that. */
  turnAt?: number;
  /** How often the message of this generation was sent again. */
  requeueCount: number;
  /** The time of its start, or of the next attempt after a failed one. */
  notBefore?: number;
  attempt: number;
  maxAttempts: number;
  /** Attempts that were released or declined; absent for none. */
  uncountedAttempts?: number;
  retry?: RetryPolicy;
  /** Those that it names. Others follow from rules. */
  limits?: TaskLimit[];
  /** The keys of which the present attempt, or the last one, took a place. */
  places?: string[];
  holder?: string;
  /** The instance that claimed it. News for the holder go there while it is live. */
  holderInstance?: string;
  /** The holder's dialect, if it is audited. */
  holderLogDialect?: string;
  claimedAt?: number;
  startedAt?: number;
  leaseUntil?: number;
  /** Set if the claim named a lease. */
  leaseMs?: number;
  claimNote?: JsonObject;
  claimId?: string;
  /** The question and its time, while the task waits for input; then the answer. */
  prompt?: JsonObject;
  askedAt?: number;
  /** There was a question. */
  hasAsked?: true;
  answer?: Json;
  /** Finished steps by name, which later attempts do not repeat. */
  steps?: Record<string, StoredContent>;
  /** Absent for none. */
  answerCount?: number;
  lastAnswer?: AnsweredQuestion;
  progress?: Progress;
  endedAt?: number;
  cancelledBy?: string;
  cancelReason?: string;
  /** Of the last manual retry. */
  retriedBy?: string;
  retryReason?: string;
  /** That changed it last. */
  operationId?: string;
  error?: TaskError;
  /** Attempts per error that has its own limit. */
  failures?: Record<string, number>;
  input: StoredContent;
  output?: StoredContent;
  artifacts?: StoredArtifacts;
  /** 0 to 1. */
  confidence?: number;
  /** When the requester is told that nobody has claimed it, and when that happened. */
  acknowledgeBy?: number;
  unacknowledgedAt?: number;
  /** Fields of the requester's dialect without a place in a task. Readers of that dialect get them back. */
  extensions: JsonObject;
  outcomeExtensions?: JsonObject;
  /** Audit fields of the request, and of the last message that ended it or an attempt or asked a question. */
  auditEntry?: JsonObject;
  outcomeAuditEntry?: JsonObject;
  /** The requester's dialect, if it is audited and the request was in another one. */
  requesterLogDialect?: string;
  /** Of the request. */
  fingerprint: string;
  claimMessage?: ProcessedMessage;
  /** The holder's message that ended it, if one did. */
  endMessage?: ProcessedMessage;
  /** Other executed messages, newest last. */
  processedMessages?: ProcessedMessage[];
  /** Of the last of them, if its readers find it in an inbox. */
  reportedAs?: SentOrder & Pick<ProcessedMessage, 'id'>;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  /** Of the requester's call. Only where spans are exported. */
  parentSpan?: string;
}

/** Earlier holders of the work, the requester last. */
export const getDelegationChain = ({ delegationChain, from }: Pick<Task, 'delegationChain' | 'from'>): string[] =>
  delegationChain ?? [from];

/** What a progress report needs. */
export type ReportedTask = Pick<
  Task,
  | 'project'
  | 'id'
  | 'v'
  | 'at'
  | 'status'
  | 'priority'
  | 'domain'
  | 'from'
  | 'conversation'
  | 'attempt'
  | 'ttlSeconds'
  | 'traceparent'
  | 'tracestate'
  | 'baggage'
  | 'holder'
  | 'claimedAt'
  | 'claimNote'
  | 'progress'
  | 'extensions'
  | 'processedMessages'
> & {
  /** Set if the report is not the holder's own message. */
  reportId?: string;
  /** Of an attempt that is not the last one. */
  failedAttempt?: TaskError;
};

/** Enough for messages under way; a report older than 16 others is worthless. */
export const MAX_PROCESSED_MESSAGES = 16;

export const isTask = (item: Item): item is Task => item.sk === 'task';
export const taskRef = (project: string, id: string): Ref<Task> => ({ pk: `${project}#task#${id}`, sk: 'task' });

/** A queue of its own per instance. Agent ids contain no slash. */
export const formatInstanceQueueName = (agent: string, instance: string): string => `${agent}/${instance}`;

type QueuedFields = Pick<
  Task,
  'project' | 'priority' | 'to' | 'instance' | 'routingCapability' | 'declinedBy' | 'turnAt' | 'domain'
>;

/**
 * A declined task waits in the list of its domain, where agents that declined it can skip it. So does one whose turn comes before
 * those of others in a queue that has no turns.
 */
export const toQueueKey = ({
  project,
  priority,
  to,
  instance,
  routingCapability,
  declinedBy,
  turnAt,
  domain = '',
}: QueuedFields): QueueKey => {
  if (to !== undefined) {
    return {
      project,
      kind: 'agent',
      name: instance === undefined ? to : formatInstanceQueueName(to, instance),
      priority,
    };
  }
  const isInList = declinedBy !== undefined || turnAt !== undefined;
  const capability = routingCapability ?? (isInList ? buildDomainWildcard(domain) : undefined);
  return capability === undefined
    ? { project, kind: 'domain', name: domain, priority }
    : { project, kind: 'capability', name: capability, priority };
};

/** Without those that do not count. */
export const countSpentAttempts = ({
  attempt,
  uncountedAttempts = 0,
}: Pick<Task, 'attempt' | 'uncountedAttempts'>): number => attempt - uncountedAttempts;

export const holderKey = (project: string, agent: string): string => `${project}#holder#${agent}`;
/** Direct messages without acknowledgement and tasks without a claim, by sender. */
export const unacknowledgedListKey = (project: string, from: string): string => `${project}#unacknowledged#${from}`;
export const unacknowledgedKey = (project: string, from: string, at: number, id: string): IndexKey =>
  timeOrderedKey(unacknowledgedListKey(project, from), at, id);
/** Tasks without a provider, until somebody declares their capability. */
export const undeclaredListKey = (project: string, capability: string): string => `${project}#undeclared#${capability}`;
export const failedListKey = (project: string): string => `${project}#failed`;

/**
 * Orders records by time. The key serves as a cursor for readers who may not know the record, so it contains a hash instead
 * of the id: 96 bits keep two records of one millisecond apart.
 */
export const timeOrderedKey = (p: string, at: number, name: string): IndexKey => ({
  pk: p,
  sk: `${toSortableTime(at)}#${hash('sha256', name, 'base64url').slice(0, 16)}`,
});

/** Epoch milliseconds so that text order is time order. */
export const toSortableTime = (at: number): string =>
  String(Math.min(Math.max(at, 0), MAX_SORTABLE_TIME)).padStart(14, '0');

/** Senders choose their times. */
const MAX_SORTABLE_TIME = 10 ** 14 - 1;
