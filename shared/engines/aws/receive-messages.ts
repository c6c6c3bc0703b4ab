import {
  addToCount,
  type QueueCounts,
  type QueueKey,
  type Queues,
  type ReceivedMessage,
  type ReceiveOptions,
} from '../../ports/queues.ts';
import type { Watcher } from '../../ports/records.ts';
import type { ReceiverOptions, SharedReceive } from './aws-queues.ts';
import { queuePk } from './dynamo-queue.ts';
import { deleteQueued, listVisible, releaseQueued } from './dynamo-queue-receive.ts';
import { type QueueActivityIndex, type QueueActivityStore, queueActivityRef } from './queue-activity-index.ts';
import { receiveFirst } from './receive-first.ts';
import { receiveNow } from './receive-now.ts';
import { groupByTableQueue } from './receive-sources.ts';
import { isSqsQueue, partitionByBackend, type SqsQueues } from './sqs-queue.ts';
import { countInSqs, deleteFromSqs, receiveSkipping, releaseToSqs } from './sqs-receive.ts';

/** A queue whose messages wait for so long is crowded. */
const LATE_MS = 30_000;

type Receiver = Pick<Queues, 'receive' | 'delete' | 'release' | 'count'>;

/** All that is done with messages but sending them. */
export const createReceiver = (
  sqs: SqsQueues,
  lists: QueueActivityStore,
  activityIndex: QueueActivityIndex,
  { onLate, ...shared }: ReceiverOptions = {},
): Receiver => {
  const { clock } = sqs;
  const poll: SharedReceive['poll'] = (queueKey, options) => receiveSkipping(sqs, queueKey, options);
  const sources = { clock, lists, activityIndex, poll, ...shared };
  const listActive = (queueKeys: QueueKey[]): Promise<QueueKey[]> =>
    activityIndex.listActive(queueKeys.filter((key) => !isSqsQueue(key) || sqs.hasQueue(key)));

  const release = async (messages: ReceivedMessage[]): Promise<void> => {
    const [queued, listed] = partitionByBackend(messages);
    await Promise.all([releaseToSqs(sqs, queued), releaseQueued(lists, listed)]);
  };

  /** The few tasks of others go another way then. */
  const markCrowded = async (received: ReceivedMessage[]): Promise<void> => {
    const late = received.find(
      ({ queueKey, at }) => queueKey.kind === 'domain' && at !== undefined && clock.now() - at > LATE_MS,
    );
    // It is a hint, and the messages are taken.
    if (late) await onLate?.(late.queueKey).catch(() => {});
  };

  const receive = async (queueKeys: QueueKey[], options: ReceiveOptions): Promise<ReceivedMessage[]> => {
    const { waitMs } = options;
    // Before the first look: nothing is missed.
    const watcher = waitMs > 0 ? shared?.watch?.(listKeys(queueKeys)) : undefined;
    try {
      return await receiveUntil(queueKeys, { ...options, watcher });
    } finally {
      watcher?.close();
    }
  };

  const receiveUntil = async (
    queueKeys: QueueKey[],
    options: ReceiveOptions & { watcher: Watcher | undefined },
  ): Promise<ReceivedMessage[]> => {
    const { max, waitMs, signal } = options;
    const active = await listActive(queueKeys);
    // A long poll answers at once where there is something, too.
    const isLone = active.length === 1 && active.every(isSqsQueue);
    let received = isLone && waitMs > 0 ? [] : await receiveNow(sources, active, options);
    if (received.length === 0 && waitMs > 0)
      received = await receiveFirst(sources, active, () => listActive(queueKeys), options);
    await markCrowded(received);
    const given = signal?.aborted ? [] : received.slice(0, max);
    const left = received.slice(given.length);
    if (left.length > 0) await release(left);
    return given;
  };

  const count: Queues['count'] = async (queueKeys, { max, skip }) => {
    const inUse = await listActive(queueKeys);
    const counts: QueueCounts = {};
    await Promise.all([
      ...inUse.filter(isSqsQueue).map(async (queueKey) => {
        addToCount(counts, queueKey.priority, await countInSqs(sqs, queueKey), max);
      }),
      ...[...groupByTableQueue(inUse)].map(async (own) => {
        for (const { queueKey } of await listVisible(lists, own, { max, skip }))
          addToCount(counts, queueKey.priority, 1, max);
      }),
    ]);
    return counts;
  };

  return {
    receive,
    release,
    count,
    delete: async (messages) => {
      const [queued, listed] = partitionByBackend(messages);
      await Promise.all([deleteFromSqs(sqs, queued), deleteQueued(lists, listed)]);
    },
  };
};

/** What is written where something comes into one of them, or into one of a capability of a domain. */
const listKeys = (queueKeys: QueueKey[]): string[] => [
  ...new Set(queueKeys.flatMap((key) => [queueActivityRef(key).pk, ...(isSqsQueue(key) ? [] : [queuePk(key)])])),
];
