import type { Item, Ref } from '../ports/records.ts';
import type { DirectMessageCommand, TaskRequestCommand } from './command.ts';

/** A message to many, with everything that the next page of recipients needs. */
export interface Broadcast extends Item {
  sk: 'broadcast';
  project: string;
  id: string;
  from: string;
  dialect: string;
  audience: string;
  /** Its readers on NATS have it from the sender. */
  isAlreadyPublished?: true;
  /** Without a recipient. */
  command: BroadcastCommand;
  fingerprint: string;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  createdAt: number;
  /** The last agent of the previous page. */
  cursor?: string;
  deliveredCount: number;
  /** Recipients with a full inbox, or for whom the control command is invalid. */
  failedCount: number;
  completedAt?: number;
}

export type BroadcastCommand = DirectMessageCommand | TaskRequestCommand;

export const broadcastRef = (project: string, id: string): Ref<Broadcast> => ({
  pk: `${project}#broadcast#${id}`,
  sk: 'broadcast',
});
