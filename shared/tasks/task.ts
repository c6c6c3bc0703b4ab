import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../json/json.ts';
import type { Lane, Priority } from '../ports/queues.ts';
import type { IndexKey, Item, Ref } from '../ports/records.ts';
import type { KeptArtifacts } from './artifacts.ts';

export const STATUSES = [
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
export type Status = (typeof STATUSES)[number];

export const ENDS = ['completed', 'failed', 'expired', 'cancelled'] as const satisfies Status[];
export type End = (typeof ENDS)[number];
/** How it ended; undefined while it is open. */
export const endOf = ({ status }: Task): End | undefined => ENDS.find((end) => end === status);

export const isOpen = (task: Task): boolean => task.endedAt === undefined;
export const isHeld = (task: Task): boolean => task.status === 'claimed' || task.status === 'in_progress';
/** Somebody has it, though it may wait for an answer. */
export const isInHand = (task: Task): boolean => isHeld(task) || task.status === 'input_required';

/** A value in the record itself, or the key and size of the blob that holds it. */
export type Content = { json: Json } | { blob: string; bytes: number };

/** What becomes of a task where one that it waits for ends otherwise than completed; one that is skipped is cancelled. */
export const ON_FAILURE = ['fail', 'skip'] as const;
export type OnFailure = (typeof ON_FAILURE)[number];

/** A batch that is told when the task ends, and as which of its children. */
export interface Joins {
  batch: string;
  child: number;
}

export type Backoff = 'exponential' | 'linear' | 'fixed';

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
  carried?: JsonObject;
  told?: JsonObject;
}

/** A message about the task that was carried out: the same id again is a duplicate, or a mistake if its content differs. */
export interface Seen {
  id: string;
  fingerprint: string;
  /** Where the id is made of the content: in which round it was said. */
  round?: number;
}

/** A round begins with each claim, and with each answer to the holder. */
export const roundOf = ({ attempt, answers = 0 }: Pick<Task, 'attempt' | 'answers'>): number => attempt + answers;

/** Whether the write carried out a message that stands last among the seen. */
export const hasReported = (before: Task, after: Task): boolean => {
  const [last, newest] = [before.seen?.at(-1), after.seen?.at(-1)];
  return last?.id !== newest?.id || last?.round !== newest?.round;
};

/** The whole truth about one task. The record is its own proof against being made twice. */
export interface Task extends Item {
  sk: 'task';
  project: string;
  id: string;
  dialect: string;
  status: Status;
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
  /** The capability once more, where it alone decides who may claim the task. */
  skill?: string;
  /** Whoever is to do it is reached over NATS, or over HTTP and NATS, too. */
  toNats?: true | 'too';
  /** Whoever asked for it is reached over NATS. */
  fromNats?: true;
  parent?: string;
  /** The conversation that it belongs to. */
  conversation?: string;
  /** What its requester files it under. */
  thread?: string;
  /** Who had the work in hand before, the requester last. */
  chain?: string[];
  /** How many tasks have it as their parent; absent for none. */
  children?: number;
  /** The tasks that must be completed before it is queued. */
  waitsFor?: string[];
  onFailure?: OnFailure;
  joins?: Joins;
  /** The graph that it is a node of. */
  graph?: string;
  /** How many tasks have begun to wait for it; absent for none. */
  waiters?: number;
  createdAt: number;
  ttlSeconds: number;
  /** When it expires unless somebody has claimed it, in epoch milliseconds. */
  deadline: number;
  /** Rises whenever the task goes back to its queue; only the queue message with the current entry can claim it. */
  entry: number;
  queuedAt: number;
  /** How often the current entry was sent again, in case its queue message was lost. */
  resent: number;
  /** A failed attempt is not queued again before this. */
  notBefore?: number;
  attempt: number;
  maxAttempts: number;
  retry?: RetryPolicy;
  holder?: string;
  /** Which of its instances claimed it, where that said so: what the holder must know is for that one while it is live. */
  holderInstance?: string;
  /** Its holder's dialect, where that is logged. */
  heardIn?: string;
  claimedAt?: number;
  startedAt?: number;
  leaseUntil?: number;
  /** What the holder said on claiming. */
  claimNote?: JsonObject;
  /** The name of the claim that brought it to its holder. */
  claimId?: string;
  /** What the holder asked for, and since when, while the task waits for input; then the answer. */
  prompt?: JsonObject;
  askedAt?: number;
  answer?: Json;
  /** How often it was answered; absent for never. */
  answers?: number;
  progress?: Progress;
  endedAt?: number;
  cancelledBy?: string;
  error?: TaskError;
  /** How many attempts ended with each kind of error that allows only so many; absent for none. */
  failures?: Record<string, number>;
  input: Content;
  output?: Content;
  artifacts?: KeptArtifacts;
  /** How sure of its output the holder was, 0 to 1. */
  confidence?: number;
  /** When its requester is told that nobody has claimed it yet, and when it was. */
  acknowledgeBy?: number;
  unacknowledgedAt?: number;
  /** What the requester's dialect has no canonical place for, given back to readers of that dialect. */
  carried: JsonObject;
  outcomeCarried?: JsonObject;
  /** What the log of messages says of the request, and of the last message that ended it or an attempt, or asked for input. */
  told?: JsonObject;
  outcomeTold?: JsonObject;
  /** The dialect of the requester, where that is logged and the one that it asked in is not. */
  answeredIn?: string;
  /** The request itself. */
  fingerprint: string;
  claimedBy?: Seen;
  /** The holder's message that ended it; absent where it ended otherwise. */
  endedBy?: Seen;
  /** The last of the other messages about it that were carried out, newest last; absent until there is one. */
  seen?: Seen[];
  traceparent: string;
  tracestate?: string;
}

/** Enough of a task to say what its holder said last. */
export type Reported = Pick<
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
  | 'holder'
  | 'claimedAt'
  | 'claimNote'
  | 'progress'
  | 'carried'
  | 'seen'
>;

/** Enough for what may still be on its way; a progress report that is older than 16 others says nothing any more. */
export const SEEN_LIMIT = 16;

export const taskRef = (project: string, id: string): Ref<Task> => ({ pk: `${project}#task#${id}`, sk: 'task' });

/** What is only for one instance waits beside what is for any. An agent's id has no slash. */
export const instanceLane = (agent: string, instance: string): string => `${agent}/${instance}`;

export const laneOf = ({ project, priority, to, instance, skill, domain = '' }: Task): Lane => {
  if (to !== undefined) {
    return { project, kind: 'agent', name: instance === undefined ? to : instanceLane(to, instance), priority };
  }
  return skill === undefined
    ? { project, kind: 'domain', name: domain, priority }
    : { project, kind: 'capability', name: skill, priority };
};

export const heldPlace = (project: string, agent: string): string => `${project}#held#${agent}`;
/** Where a sender finds what it sent and nobody has acknowledged, be it a note or a task that nobody has claimed. */
export const unacknowledgedOf = (project: string, from: string): string => `${project}#unacknowledged#${from}`;
export const unacknowledgedPlace = (project: string, from: string, at: number, id: string): IndexKey =>
  placeInTime(unacknowledgedOf(project, from), at, id);
export const failedPlace = (project: string): string => `${project}#failed`;

/**
 * Where a record stands among others by its time. The place is a cursor for whoever reads on from there, who may not be one to
 * know of the record, and so does not tell its name: 96 bits of a hash are enough to keep two of one millisecond apart.
 */
export const placeInTime = (p: string, at: number, name: string): IndexKey => ({
  p,
  s: `${sortable(at)}#${hash('sha256', name, 'base64url').slice(0, 16)}`,
});

/** Epoch milliseconds so that text order is time order. */
export const sortable = (at: number): string => String(Math.min(Math.max(at, 0), LATEST)).padStart(14, '0');

/** Far enough, for senders choose their times. */
const LATEST = 10 ** 14 - 1;
