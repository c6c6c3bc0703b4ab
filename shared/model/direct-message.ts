import type { JsonObject } from '../kernel/json/json.ts';
import type { Priority } from '../ports/queues.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';

/**
 * A message from one agent to another that is no task. It stands in its recipient's inbox itself, until it is acknowledged or
 * its time is over, and is kept for as long as a task, so that the same message again is known.
 */
export interface DirectMessage extends Item {
  sk: 'direct-message';
  project: string;
  /** Its message id, which is unique for its sender. */
  id: string;
  dialect: string;
  from: string;
  to: string;
  /** Which of the recipient's instances reads it, while that is live. */
  toInstance?: string;
  /** What it is, with its dialect: `agent-os.gap`. */
  type: string;
  priority: Priority;
  createdAt: number;
  ttlSeconds?: number;
  /** When it leaves the inbox unread, in epoch milliseconds; absent where it stays for as long as it takes. */
  deadline?: number;
  /** When its sender is told that it has not been acknowledged, and when it was. */
  acknowledgeBy?: number;
  unacknowledgedAt?: number;
  /** The message or task that it belongs to, where it names one. */
  correlation?: string;
  /** The task of which it tells what its holder said: the content is that report, in no dialect yet. */
  taskId?: string;
  content: StoredContent;
  /** What its dialect has no canonical place for, given back to readers of that dialect. */
  extensions: JsonObject;
  /** What the log of messages says of it. */
  auditEntry?: JsonObject;
  /** Its recipient's dialect, where that is logged. */
  recipientLogDialect?: string;
  fingerprint: string;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  readAt?: number;
  /** It had to go for another, because the inbox was full. */
  evictedAt?: number;
  /** Under which it stands in the order of arrival, in an inbox with a limit. */
  inboxSlot?: string;
  /** Where it is on a list until somebody closes it. */
  closedAt?: number;
  /** Its recipient is reached over NATS: it stands in no inbox. One that went to some, and to others alike, is told where all listen. */
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
