import type { QueueInspection, QueueKey } from '../../ports/queues.ts';
import { type DynamoQueueStore, getPriorityPrefix, getShardKeys, type QueuedItem } from './dynamo-queue.ts';
import {
  ACTIVE_MS,
  getLastSentAt,
  isAlwaysActive,
  type QueueActivity,
  queueActivityRef,
  toActivityField,
} from './queue-activity-index.ts';
import type { SqsQueues } from './sqs-queue.ts';
import { countInSqs } from './sqs-receive.ts';

interface InspectedQueues {
  sqs: SqsQueues;
  lists: DynamoQueueStore;
}

const EMPTY: QueueInspection = { messages: 0, isExact: true, oldest: [] };

export type InspectQueues = typeof inspectQueues;

/** A receive would hide messages from agents, so SQS is only asked how many it holds: an estimate, some seconds old. */
export const inspectQueues = async (
  { sqs, lists }: InspectedQueues,
  queueKeys: QueueKey[],
  max: number,
): Promise<QueueInspection[]> => {
  const isActive = await readActivity(lists, queueKeys);
  return Promise.all(
    queueKeys.map(async (queueKey): Promise<QueueInspection> => {
      if (!isActive(queueKey)) return EMPTY;
      if (queueKey.kind === 'agent' || queueKey.kind === 'capability') return inspectList(lists, queueKey, max);
      return sqs.hasQueue(queueKey) ? { messages: await countInSqs(sqs, queueKey), isExact: false } : EMPTY;
    }),
  );
};

/** One read for all priorities of a queue, instead of a request to each. */
const readActivity = async (
  { records, clock }: DynamoQueueStore,
  queueKeys: QueueKey[],
): Promise<(queueKey: QueueKey) => boolean> => {
  const refs = new Map(queueKeys.map((queueKey) => [queueActivityRef(queueKey).pk, queueActivityRef(queueKey)]));
  const found = await records.getMany<QueueActivity>([...refs.values()]);
  const activities = new Map(found.map((activity) => [activity.pk, activity]));
  const since = clock.now() - ACTIVE_MS;
  return (queueKey) =>
    isAlwaysActive(queueKey) ||
    getLastSentAt(activities.get(queueActivityRef(queueKey).pk) ?? {}, toActivityField(queueKey)) > since;
};

/** A list has four shards. Each is read up to one message beyond `max`. */
const inspectList = async (
  { records }: DynamoQueueStore,
  queueKey: QueueKey,
  max: number,
): Promise<QueueInspection> => {
  const prefix = getPriorityPrefix(queueKey);
  const shards = await Promise.all(
    getShardKeys(queueKey).map((pk) => records.query<QueuedItem>({ pk, prefix, limit: max + 1 })),
  );
  const items = shards.flat().toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
  const oldest = items.slice(0, max).map(({ group, body }) => ({ group, body }));
  return { messages: items.length, isExact: shards.every((shard) => shard.length <= max), oldest };
};
