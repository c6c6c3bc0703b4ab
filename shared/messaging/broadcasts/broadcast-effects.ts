import type { Json } from '../../kernel/json/json.ts';
import type { Broadcast } from '../../model/broadcast.ts';
import type { Effect } from '../../model/effect.ts';
import { buildBroadcastRelay } from '../../nats/relay-item.ts';
import type { RecordChange } from '../../ports/records.ts';

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
