import type { ParleyEvent } from '../ports/events.ts';
import type { Item, Key, Ref } from '../ports/records.ts';

interface Receiver extends Item {
  project: string;
  id: string;
  url: string;
  /** Signs what is sent. Never shown. */
  secret?: string;
  createdAt: number;
}

/** Sends events of a project to an address. */
export interface Webhook extends Receiver {
  sk: 'webhook';
  /** Types, or prefixes with a star. */
  types: string[];
  agent?: string;
  domain?: string;
  taskId?: string;
  description?: string;
  /** What is sent; absent for that of Standard Webhooks. */
  format?: 'cloudevents';
  disabledAt?: number;
  /** Why it gets nothing. */
  disabledReason?: 'gone' | 'failing' | 'operator';
}

/** Sends the changes of one task to an address, in the words of its requester's dialect. */
export interface PushConfig extends Receiver {
  sk: `push-config#${string}`;
  taskId: string;
  contextId: string;
  from: string;
  authentication?: { scheme: string; credentials?: string };
  notificationToken?: string;
}

export type WebhookTarget = Webhook | PushConfig;
export const isWebhook = (target: WebhookTarget): target is Webhook => target.sk === 'webhook';

export const webhookRef = (project: string, id: string): Ref<Webhook> => ({
  pk: `${project}#webhook#${id}`,
  sk: 'webhook',
});
export const webhooksKey = (project: string): string => `${project}#webhooks`;

export const pushConfigPk = (project: string, taskId: string): string => `${project}#push#${taskId}`;
export const pushConfigRef = (project: string, taskId: string, id: string): Ref<PushConfig> => ({
  pk: pushConfigPk(project, taskId),
  sk: `push-config#${id}`,
});

/** What one receiver is still to be sent about one subject, oldest first. */
export interface Outbox extends Item {
  sk: 'outbox';
  project: string;
  target: Key;
  subject: string;
  pending: ParleyEvent[];
  /** The newest ids that were sent: a repeated effect adds none of them again. */
  sent: string[];
  /** Failed attempts at the first one. */
  attempt: number;
}

export const outboxRef = (project: string, target: Key, subject: string): Ref<Outbox> => ({
  pk: `${project}#outbox#${target.pk.slice(project.length + 1)}#${target.sk}#${subject}`,
  sk: 'outbox',
});

/** What was sent to a webhook, and how it was answered. */
export interface WebhookAttempt extends Item {
  sk: `webhook-attempt#${string}`;
  eventId: string;
  type: string;
  attempt: number;
  status?: number;
  error?: string;
  tookMs: number;
  startedAt: number;
}

/** One call of a receiver. Repeated, it has the same id. */
export interface WebhookMessage {
  id: string;
  body: string;
  headers: Record<string, string>;
}
