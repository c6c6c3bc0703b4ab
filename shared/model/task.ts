import { hash } from 'node:crypto';
import { buildDomainWildcard } from '../identity/agents/agent.ts';
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
/** How it ended; undefined while it is open. */
export const getTerminalStatus = ({ status }: Task): TerminalStatus | undefined =>
  TERMINAL_STATUSES.find((end) => end === status);

/** What is published of a task. */
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

/** A time of the task, no later than its answer may come. */
export const capByAnswer = ({ answerBy = Infinity }: Pick<Task, 'answerBy'>, at: number): number =>
  Math.min(at, answerBy);

export const isOpen = (task: Task): boolean => task.endedAt === undefined;
export const isHeld = (task: Task): boolean => task.status === 'claimed' || task.status === 'in_progress';
/** Somebody has it, though it may wait for an answer. */
export const isAssigned = (task: Task): boolean => isHeld(task) || task.status === 'input_required';
/** What becomes of a task where one that it waits for ends otherwise than completed; one that is skipped is cancelled. */
export const ON_FAILURE = ['fail', 'skip'] as const;
export type OnFailure = (typeof ON_FAILURE)[number];

/** A transaction of DynamoDB takes 100 writes: the task, the link to its parent and the parent, and two for each of these. */
export const MAX_DEPENDENCIES = 48;

/** A batch that is told when the task ends, and as which of its children. */
export interface BatchMembership {
  batchId: string;
  index: number;
}

type Backoff = 'exponential' | 'linear' | 'fixed';

/** What the requester wants instead of what an error's own rule says. */
export interface RetryPolicy {
  maxAttempts?: number;
  backoff?: Backoff;
  initialMs?: number;
}

export interface TaskError {
  code: string;
  message: string;
  retryable: boolean;
  /** The word of who failed, where it is another: bad input may be mended, and the same input is not tried again. */
  recoverable?: boolean;
  retryAfterSeconds?: number;
  /** How many attempts may end with this kind of error, the last one for good, where not only the task's own limit counts. */
  attempts?: number;
  /** How the delay grows, where this kind of error says so. */
  backoff?: Backoff;
  /** Who failed. */
  agent?: string;
  details?: JsonObject;
}

export interface Progress {
  at: number;
  percent?: number;
  message?: string;
  subTasks?: Json[];
  /** What keeps the holder from going on. */
  blockers?: string[];
  /** How sure it is, 0 to 1. */
  confidence?: number;
  /** What its dialect has no canonical place for. */
  extensions?: JsonObject;
  auditEntry?: JsonObject;
}

/** The last question that was answered: who asked what, and who answered. The answer itself is the task's. */
export interface AnsweredQuestion {
  askedAt: number;
  /** Who asked, in which attempt. */
  agent?: string;
  attempt: number;
  question?: string;
  at: number;
  by: string;
  /** The message that answered, where it has an id. */
  messageId?: string | undefined;
}

/** When a message was written, by its sender's clock, and as which of its messages to the same agent. */
export interface SentOrder {
  at: number;
  sequence: number;
}

/** A message about the task that was carried out: the same id again is a duplicate, or a mistake if its content differs. */
export interface ProcessedMessage {
  id: string;
  fingerprint: string;
  /** Where the id is made of the content: in which round it was said. */
  round?: number;
}

/** A round begins with each claim, and with each answer to the holder. */
export const getDedupRound = ({ attempt, answerCount = 0 }: Pick<Task, 'attempt' | 'answerCount'>): number =>
  attempt + answerCount;

/** Whether more than how it ended is, or was, told to one of its agents: it asked or came back to its queue. */
export const hasSeveralInboxEntries = ({
  hasAsked,
  queueGeneration,
}: Pick<Task, 'hasAsked' | 'queueGeneration'>): boolean => hasAsked === true || queueGeneration > 1;

/** Whether the write carried out a message that stands last among the seen. */
export const hasReported = (before: Task, after: Task): boolean => {
  const [last, newest] = [before.processedMessages?.at(-1), after.processedMessages?.at(-1)];
  return last?.id !== newest?.id || last?.round !== newest?.round;
};

/** The whole truth about one task. The record is its own proof against being made twice. */
export interface Task extends Item {
  sk: 'task';
  project: string;
  id: string;
  dialect: string;
  status: TaskStatus;
  priority: Priority;
  from: string;
  to?: string;
  /** The one instance of `to` that gets it, while that is live. */
  instance?: string;
  /** The instance of the requester that asked, and reads the answer while it is live. */
  fromInstance?: string;
  /** Absent where the capability belongs to none. */
  domain?: string;
  capability: string;
  /** The capability once more, where it has a queue of its own: it belongs to no domain, or somebody declares this very one. */
  routingCapability?: string;
  /** Who said that it cannot do it, and is not given it again; absent for nobody. */
  declinedBy?: string[];
  /** Whoever is to do it is reached over NATS, or over HTTP and NATS, too. */
  deliveryTarget?: 'nats' | 'both';
  /** Whoever asked for it is reached over NATS. */
  fromNats?: true;
  /** Whoever asked for it finds all that is said of it in its inbox, or how far it is. */
  reportsToInbox?: true | 'progress';
  /** When its request was written, where it is found in the inbox of whoever it is for. */
  requestedAs?: SentOrder;
  parent?: string;
  /** The conversation that it belongs to. */
  conversation?: string;
  /** For whom it is done. */
  user?: string;
  /** What its requester files it under. */
  requestId?: string;
  /** Earlier holders of the work, the requester last. */
  delegationChain?: string[];
  /** How many tasks have it as their parent; absent for none. */
  childCount?: number;
  /** The tasks that must be completed before it is queued. */
  dependencyIds?: string[];
  onFailure?: OnFailure;
  batchMembership?: BatchMembership;
  /** The graph that it is a node of. */
  graph?: string;
  /** How many tasks have begun to wait for it; absent for none. */
  dependentCount?: number;
  createdAt: number;
  ttlSeconds: number;
  /** When it expires unless somebody has claimed it, in epoch milliseconds. */
  deadline: number;
  /** When it expires whoever works on it, where its time to live bounds the answer; `due` is never later. */
  answerBy?: number;
  /** Rises whenever the task goes back to its queue; only the queue message with the current entry can claim it. */
  queueGeneration: number;
  queuedAt: number;
  /** How often the current entry was sent again, in case its queue message was lost. */
  requeueCount: number;
  /** A failed attempt is not queued again before this. */
  notBefore?: number;
  attempt: number;
  maxAttempts: number;
  /** How many of the attempts count for nothing, because the task was given back or handed on; absent for none. */
  uncountedAttempts?: number;
  retry?: RetryPolicy;
  holder?: string;
  /** Which of its instances claimed it, where that said so: what the holder must know is for that one while it is live. */
  holderInstance?: string;
  /** Its holder's dialect, where that is logged. */
  holderLogDialect?: string;
  claimedAt?: number;
  startedAt?: number;
  leaseUntil?: number;
  /** How long its holder is to have it without a word, where the claim named that. */
  leaseMs?: number;
  /** What the holder said on claiming. */
  claimNote?: JsonObject;
  /** The name of the claim that brought it to its holder. */
  claimId?: string;
  /** What the holder asked for, and since when, while the task waits for input; then the answer. */
  prompt?: JsonObject;
  askedAt?: number;
  /** It has waited for input before, or does. */
  hasAsked?: true;
  answer?: Json;
  /** Its finished steps by name, which no later attempt repeats; absent until there is one. */
  steps?: Record<string, StoredContent>;
  /** How often it was answered; absent for never. */
  answerCount?: number;
  lastAnswer?: AnsweredQuestion;
  progress?: Progress;
  endedAt?: number;
  cancelledBy?: string;
  /** Who had it run again by hand, the last time. */
  retriedBy?: string;
  error?: TaskError;
  /** How many attempts ended with each kind of error that allows only so many; absent for none. */
  failures?: Record<string, number>;
  input: StoredContent;
  output?: StoredContent;
  artifacts?: StoredArtifacts;
  /** How sure of its output the holder was, 0 to 1. */
  confidence?: number;
  /** When its requester is told that nobody has claimed it yet, and when it was. */
  acknowledgeBy?: number;
  unacknowledgedAt?: number;
  /** What the requester's dialect has no canonical place for, given back to readers of that dialect. */
  extensions: JsonObject;
  outcomeExtensions?: JsonObject;
  /** What the log of messages says of the request, and of the last message that ended it or an attempt, or asked for input. */
  auditEntry?: JsonObject;
  outcomeAuditEntry?: JsonObject;
  /** The dialect of the requester, where that is logged and the one that it asked in is not. */
  requesterLogDialect?: string;
  /** The request itself. */
  fingerprint: string;
  claimMessage?: ProcessedMessage;
  /** The holder's message that ended it; absent where it ended otherwise. */
  endMessage?: ProcessedMessage;
  /** The last of the other messages about it that were carried out, newest last; absent until there is one. */
  processedMessages?: ProcessedMessage[];
  /** When the last of them was written, where its readers find it in an inbox, and where its protocol counts messages. */
  reportedAs?: SentOrder & Pick<ProcessedMessage, 'id'>;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
}

/** Earlier holders of the work, the requester last. */
export const getDelegationChain = ({ delegationChain, from }: Pick<Task, 'delegationChain' | 'from'>): string[] =>
  delegationChain ?? [from];

/** Enough of a task to say what its holder said last. */
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
  /** By which its reader knows the report, where that is not the holder's own message. */
  reportId?: string;
  /** How an attempt failed that is not the last one. */
  failedAttempt?: TaskError;
};

/** Enough for what may still be on its way; a progress report that is older than 16 others says nothing any more. */
export const MAX_PROCESSED_MESSAGES = 16;

export const isTask = (item: Item): item is Task => item.sk === 'task';
export const taskRef = (project: string, id: string): Ref<Task> => ({ pk: `${project}#task#${id}`, sk: 'task' });

/** What is only for one instance waits beside what is for any. An agent's id has no slash. */
export const formatInstanceQueueName = (agent: string, instance: string): string => `${agent}/${instance}`;

/** What somebody handed on waits for the others in a list, where who said that it cannot do it need not receive it. */
export const toQueueKey = ({
  project,
  priority,
  to,
  instance,
  routingCapability,
  declinedBy,
  domain = '',
}: Task): QueueKey => {
  if (to !== undefined) {
    return {
      project,
      kind: 'agent',
      name: instance === undefined ? to : formatInstanceQueueName(to, instance),
      priority,
    };
  }
  const capability = routingCapability ?? (declinedBy === undefined ? undefined : buildDomainWildcard(domain));
  return capability === undefined
    ? { project, kind: 'domain', name: domain, priority }
    : { project, kind: 'capability', name: capability, priority };
};

/** Attempts that ended the usual way, or run. */
export const countSpentAttempts = ({
  attempt,
  uncountedAttempts = 0,
}: Pick<Task, 'attempt' | 'uncountedAttempts'>): number => attempt - uncountedAttempts;

export const holderKey = (project: string, agent: string): string => `${project}#holder#${agent}`;
/** Direct messages without acknowledgement and tasks without a claim, by sender. */
export const unacknowledgedListKey = (project: string, from: string): string => `${project}#unacknowledged#${from}`;
export const unacknowledgedKey = (project: string, from: string, at: number, id: string): IndexKey =>
  timeOrderedKey(unacknowledgedListKey(project, from), at, id);
/** Where tasks stand that nobody could do when they were asked for, until somebody declares their capability. */
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

/** Far enough, for senders choose their times. */
const MAX_SORTABLE_TIME = 10 ** 14 - 1;
