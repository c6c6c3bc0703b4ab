import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Json } from '../../kernel/json/json.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import type { Clock } from '../../ports/clock.ts';
import { PRIORITIES, type QueueKey, type QueueMessage } from '../../ports/queues.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import { INDEX_SHARDS, listShardKeys } from './item-codec.ts';

export interface QueuedItem extends Item {
  group: string;
  body: Json;
  hiddenUntil: number;
}

export interface DynamoQueueStore {
  records: Records;
  clock: Clock;
  newId: () => string;
}

export const getShardKeys = (queueKey: QueueKey): string[] => listShardKeys(queuePk(queueKey));

/** Unique: agent names cannot contain the separator. */
export const queuePk = ({ project, kind, name }: QueueKey): string =>
  kind === 'agent' ? `${project}#queue#${name}` : `${project}#queue#${kind}#${name}`;
const toQueueShard = (queueKey: QueueKey, dedup: string): string =>
  `${queuePk(queueKey)}#${(dedup.codePointAt(0) ?? 0) % INDEX_SHARDS}`;
export const getPriorityPrefix = ({ priority }: QueueKey): string => `${PRIORITIES.indexOf(priority)}#`;

/** A task waits at most 7 days for a claim. */
const RETENTION_MS = 8 * DAY_MS;

/** The task's own time: eager enqueue and dispatcher write the same record. */
export const enqueueItems = async (
  { records, clock, newId }: DynamoQueueStore,
  messages: QueueMessage[],
): Promise<void> => {
  const added = messages.map(({ queueKey, at, dedupId, group, body }) => {
    const fingerprint = computeFingerprint(dedupId);
    const ref: Ref<QueuedItem> = {
      pk: toQueueShard(queueKey, fingerprint),
      sk: `${getPriorityPrefix(queueKey)}${String(at).padStart(14, '0')}#${fingerprint}`,
    };
    const expires = clock.now() + RETENTION_MS;
    return records.create<QueuedItem>({ ...ref, group, body, hiddenUntil: 0, expires }, newId());
  });
  await Promise.all(added);
};
