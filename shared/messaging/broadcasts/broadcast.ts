import type { Effect } from '../../effects/effect.ts';
import type { Json } from '../../kernel/json/json.ts';
import { buildBroadcastRelay } from '../../nats/relay-item.ts';
import type { Item, RecordChange, Ref } from '../../ports/records.ts';
import type { DirectMessageCommand, TaskRequestCommand } from '../../tasks/commands/command.ts';

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
  /** Nobody named the trace: what is made of it keeps to its parent's. */
  isMade?: true;
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

/** It is announced when it begins and when everybody has it. */
export const computeBroadcastEffects = ({ before, after }: RecordChange<Broadcast>): Effect[] => {
  if (!after) return [];
  const isNew = before === undefined;
  if (!isNew && (after.completedAt === undefined || before.completedAt !== undefined)) return [];
  const { id, project, from, audience, deliveredCount, failedCount, v, at, createdAt } = after;
  const type = isNew ? 'broadcast.sent' : 'broadcast.done';
  const counts: Json = isNew ? {} : { delivered: deliveredCount, failed: failedCount, tookMs: at - createdAt };
  const data = { messageId: id, from, audience, ...counts };
  const auditEntry: Effect = {
    kind: 'publish',
    event: { id: `broadcast/${id}:${v}:${type}`, project, type, at, data },
  };
  return isNew && audience === 'all'
    ? [auditEntry, { kind: 'relay', message: buildBroadcastRelay(after) }]
    : [auditEntry];
};
