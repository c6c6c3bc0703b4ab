import type { Item, Ref } from '../ports/records.ts';
import type { DirectMessageCommand, TaskRequestCommand } from './command.ts';

/** A message to many, on its way: how far it has come, and what it is, so that whoever goes on needs nothing else. */
export interface Broadcast extends Item {
  sk: 'broadcast';
  project: string;
  id: string;
  from: string;
  dialect: string;
  audience: string;
  /** Whoever listens on NATS where it belongs has heard it from its sender. */
  isAlreadyPublished?: true;
  /** What it says, to nobody in particular. */
  command: BroadcastCommand;
  fingerprint: string;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  createdAt: number;
  /** The last agent that was looked at. */
  cursor?: string;
  deliveredCount: number;
  /** How many could not be reached, because their inbox is full, or an order does not fit them. */
  failedCount: number;
  completedAt?: number;
}

/** What can be said to many. */
export type BroadcastCommand = DirectMessageCommand | TaskRequestCommand;

export const broadcastRef = (project: string, id: string): Ref<Broadcast> => ({
  pk: `${project}#broadcast#${id}`,
  sk: 'broadcast',
});
