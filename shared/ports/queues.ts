import type { Json } from '../kernel/json/json.ts';

export const PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/**
 * Where tasks of one priority wait: for whoever serves a whole domain, for one agent, or for whoever has a capability. In the lanes of
 * the relay waits whatever is on its way to NATS. Who receives from a domain's lane is given what waits in those of its
 * capabilities, too: `security` stands for `security.briefing`.
 */
export interface QueueKey {
  project: string;
  kind: 'domain' | 'agent' | 'capability' | 'relay';
  name: string;
  priority: Priority;
}

/** `security` of `security.briefing`; a capability without a dot belongs to no domain. */
export const getDomain = (capability: string): string | undefined => {
  const dot = capability.indexOf('.');
  return dot > 0 ? capability.slice(0, dot) : undefined;
};

export interface QueueMessage {
  queueKey: QueueKey;
  /** Messages of one group are received in the order in which they were sent, one at a time. */
  group: string;
  /** A message whose id was sent within the last minutes is not queued again. */
  dedupId: string;
  /** When it was first queued, in epoch milliseconds: the same for every sending of the same message. */
  at: number;
  body: Json;
}

export interface ReceivedMessage {
  queueKey: QueueKey;
  group: string;
  body: Json;
  receipt: string;
}

export interface ReceiveOptions {
  max: number;
  waitMs: number;
  /** How long what is received stays hidden from others. Without a delete or a release it then comes again. */
  visibilityMs: number;
  signal?: AbortSignal;
  /**
   * What the receiver has no use for. It stays for others, and what stands behind it is received; who waits looks at it again
   * once a second at most.
   */
  skip?: (body: Json) => boolean;
}

/**
 * Work on its way. Every message comes at least once; it may come twice, and a receive may come back empty by mistake, so
 * that whoever receives must check the record.
 */
export interface Queues {
  /** Resolves when all are durable. */
  send(messages: QueueMessage[]): Promise<void>;
  /** Empties earlier lanes first. Waits until something arrives in any of them, for `waitMs` at most. */
  receive(queueKeys: QueueKey[], options: ReceiveOptions): Promise<ReceivedMessage[]>;
  delete(messages: ReceivedMessage[]): Promise<void>;
  /** Makes them visible again at once, in their old order. */
  release(messages: ReceivedMessage[]): Promise<void>;
}
