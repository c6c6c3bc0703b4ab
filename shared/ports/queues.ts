import type { Json } from '../kernel/json/json.ts';

export const PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A receive from a domain's queue includes the queues of its capabilities. */
export interface QueueKey {
  project: string;
  kind: 'domain' | 'agent' | 'capability' | 'relay';
  name: string;
  priority: Priority;
}

/** A capability without a dot has no domain. */
export const getDomain = (capability: string): string | undefined => {
  const dot = capability.indexOf('.');
  return dot > 0 ? capability.slice(0, dot) : undefined;
};

export interface QueueMessage {
  queueKey: QueueKey;
  /** Messages of a group are received in order, one at a time. */
  group: string;
  /** A repeated id within the last minutes is not queued again. */
  dedupId: string;
  /** When it was first queued, in epoch milliseconds; the same for each repetition. */
  at: number;
  body: Json;
  /** Whose it is, where several share the queue. */
  share?: QueueShare;
}

/** Those who share a queue are served in turn. */
export const FAIRNESS = ['requester', 'conversation', 'none'] as const;
export type Fairness = (typeof FAIRNESS)[number];

export interface QueueShare {
  requester: string;
  conversation?: string;
}

export interface ReceivedMessage {
  queueKey: QueueKey;
  group: string;
  body: Json;
  /** When it was first queued, where the engine knows it. */
  at?: number;
  receipt: string;
}

export interface ReceiveOptions {
  max: number;
  waitMs: number;
  /** After this, a message that was neither deleted nor released is delivered again. */
  visibilityMs: number;
  signal?: AbortSignal;
  /** Skipped messages stay for other receivers. A waiting receiver checks them at most once a second. */
  skip?: (body: Json) => boolean;
}

export type QueueCounts = Partial<Record<Priority, number>>;

export const addToCount = (counts: QueueCounts, priority: Priority, more: number, max: number): void => {
  if (more > 0) counts[priority] = Math.min(max, (counts[priority] ?? 0) + more);
};

/** What one queue holds. Messages stay behind when their tasks end unclaimed, so they are no count of tasks. */
export interface QueueInspection {
  messages: number;
  /** False where the engine only estimates it. */
  isExact: boolean;
  /** The oldest, in order. Absent where the engine cannot show them without a receive. */
  oldest?: Pick<QueueMessage, 'group' | 'body'>[];
  /** Receivers that wait for it now. Absent where they wait in other processes. */
  receivers?: number;
}

/** Delivery is at least once, and a receive may be empty by mistake, so receivers must check the record. */
export interface Queues {
  /** Resolves when all are durable. */
  send(messages: QueueMessage[]): Promise<void>;
  /**
   * Where the engine orders a queue by what is stored with a message: the time that stands for its turn among those of others. It
   * has to be sent with the message, whenever that is. Undefined for a message that needs none.
   */
  assignTurn?(queueKey: QueueKey, share: QueueShare): Promise<number | undefined>;
  /** Empties earlier queues first, and those who share one in turn. Waits up to `waitMs` for a message in any of them. */
  receive(queueKeys: QueueKey[], options: ReceiveOptions): Promise<ReceivedMessage[]>;
  delete(messages: ReceivedMessage[]): Promise<void>;
  /**
   * About how many messages could be received, by priority; none is absent. At most `max` of each priority: nothing grows with what
   * is queued.
   */
  count(queueKeys: QueueKey[], options: Pick<ReceiveOptions, 'max' | 'skip'>): Promise<QueueCounts>;
  /**
   * One for each queue, without its capabilities' queues. Changes nothing. Shows all messages of a queue that holds at most `max`, and
   * the first few of any other.
   */
  inspect(queueKeys: QueueKey[], max: number): Promise<QueueInspection[]>;
  /** Makes them visible again at once, in their old order. */
  release(messages: ReceivedMessage[]): Promise<void>;
}
