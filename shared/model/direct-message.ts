import type { JsonObject } from '../kernel/json/json.ts';
import type { Priority } from '../ports/queues.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';

/**
 * A message between agents that is not a task. It is in its recipient's inbox until it is acknowledged or expires,
 * and stored as long as a task, to recognise repetitions.
 */
export interface DirectMessage extends Item {
  sk: 'direct-message';
  project: string;
  /** Unique per sender. */
  id: string;
  dialect: string;
  from: string;
  to: string;
  /** If it is live. */
  toInstance?: string;
  /** With its dialect: `agent-os.gap`. */
  type: string;
  priority: Priority;
  createdAt: number;
  ttlSeconds?: number;
  /** Epoch milliseconds. Absent: it stays until it is acknowledged. */
  deadline?: number;
  /** When the sender is told that it is not acknowledged, and when that happened. */
  acknowledgeBy?: number;
  unacknowledgedAt?: number;
  correlation?: string;
  /** Set for the report of a holder on this task, which is encoded when it is read. */
  taskId?: string;
  content: StoredContent;
  /** Fields without a place in a message, for readers of the same dialect. */
  extensions: JsonObject;
  auditEntry?: JsonObject;
  /** The recipient's dialect, if it is audited. */
  recipientLogDialect?: string;
  fingerprint: string;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  readAt?: number;
  /** It left a full inbox for a newer message. */
  evictedAt?: number;
  /** Its position in a bounded inbox. */
  inboxSlot?: string;
  /** Of a gap. */
  closedAt?: number;
  /** Its recipient is on NATS. With a partial audience it went to some agents only, and is published once for all. */
  deliveryTarget?: 'nats' | 'natsPartialAudience';
}

export const isDirectMessage = (item: Item): item is DirectMessage => item.sk === 'direct-message';

/** Other records in that index wait for an acknowledgement. */
export const isGap = ({ byHolder, acknowledgeBy }: Pick<DirectMessage, 'byHolder' | 'acknowledgeBy'>): boolean =>
  byHolder !== undefined && acknowledgeBy === undefined;

export const directMessageRef = (project: string, from: string, id: string): Ref<DirectMessage> => ({
  pk: `${project}#direct-message#${from}#${id}`,
  sk: 'direct-message',
});
