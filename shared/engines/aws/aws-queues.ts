import { sleep } from '../../ports/clock.ts';
import {
  addToCount,
  type QueueCounts,
  type QueueKey,
  type QueueMessage,
  type Queues,
  type ReceivedMessage,
  type ReceiveOptions,
} from '../../ports/queues.ts';
import { coalesce } from './coalesce.ts';
import {
  claimVisible,
  deleteQueued,
  enqueueItems,
  listVisible,
  releaseQueued,
  type VisibleItem,
} from './dynamo-queue.ts';
import type { InspectQueues } from './inspect-queues.ts';
import { QueueActivityIndex, type QueueActivityStore } from './queue-activity-index.ts';
import { countInSqs, deleteFromSqs, receiveSkipping, releaseToSqs, type SqsQueues, sendToSqs } from './sqs-queue.ts';

/** The shortest long poll of SQS. */
const LONG_POLL_SECONDS = 1;
const TABLE_POLL_MS = 250;

/**
 * Domains and relays have SQS queues. Agents and capabilities are unbounded in number, so their queues are in the
 * table.
 */
export const createAwsQueues = (sqs: SqsQueues, lists: QueueActivityStore, inspect: InspectQueues): Queues => {
  const activityIndex = new QueueActivityIndex(lists);
  const sendQueued = coalesce((messages: QueueMessage[]) => sendToSqs(sqs, messages));
  const queues: Queues = {
    send: async (messages) => {
      const [queued, listed] = partitionByBackend(messages);
      await Promise.all([
        queued.length > 0 && sendQueued(queued),
        activityIndex.recordActivity(messages.map(({ queueKey }) => queueKey)),
        enqueueItems(lists, listed),
      ]);
    },
    receive: async (queueKeys, options) => {
      const until = sqs.clock.now() + options.waitMs;
      for (let isWaiting = false; ; isWaiting = true) {
        const received = await receiveOnce(queueKeys, options, isWaiting);
        if (options.signal?.aborted) {
          if (received.length > 0) await queues.release(received);
          return [];
        }
        if (received.length > 0 || sqs.clock.now() >= until) return received;
      }
    },
    delete: async (messages) => {
      const [queued, listed] = partitionByBackend(messages);
      await Promise.all([deleteFromSqs(sqs, queued), deleteQueued(lists, listed)]);
    },
    release: async (messages) => {
      const [queued, listed] = partitionByBackend(messages);
      await Promise.all([releaseToSqs(sqs, queued), releaseQueued(lists, listed)]);
    },
    count: (queueKeys, options) => countQueues(queueKeys, options),
    inspect: (queueKeys, max) => inspect({ sqs, lists }, queueKeys, max),
  };

  const countQueues = async (
    queueKeys: QueueKey[],
    { max, skip }: Pick<ReceiveOptions, 'max' | 'skip'>,
  ): Promise<QueueCounts> => {
    const inUse = await activityIndex.listActive(
      queueKeys.filter((queueKey) => !isSqsQueue(queueKey) || sqs.hasQueue(queueKey)),
    );
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

  /** Reads table queues first. Asks SQS only for queues ranked before the items found, or if these are too few. */
  const receiveOnce = async (
    queueKeys: QueueKey[],
    options: ReceiveOptions,
    isWaiting: boolean,
  ): Promise<ReceivedMessage[]> => {
    const { max } = options;
    const inUse = await activityIndex.listActive(queueKeys.filter((key) => !isSqsQueue(key) || sqs.hasQueue(key)));
    const placeOf = rankQueues(inUse);
    const looked = await Promise.allSettled(
      [...groupByTableQueue(inUse)].map((own) => listVisible(lists, own, options)),
    );
    const seen = looked
      .flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
      .toSorted((a, b) => placeOf(a) - placeOf(b) || (a.item.sk < b.item.sk ? -1 : 1));
    const failures: unknown[] = looked.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    const received: ReceivedMessage[] = [];
    const waits = isWaiting && seen.length === 0;
    for (let position = 0; received.length < max && position < inUse.length; ) {
      const next = seen[0] ? placeOf(seen[0]) : inUse.length;
      const queues = inUse.slice(position, next).filter(isSqsQueue);
      const wanted = { ...options, max: max - received.length };
      if (queues.length > 0) received.push(...(await receiveFromSqs(queues, wanted, waits, failures)));
      const queueAfter = inUse.findIndex((key, at) => at >= next && isSqsQueue(key));
      position = queueAfter < 0 ? inUse.length : queueAfter;
      const until = seen.findIndex((one) => placeOf(one) >= position);
      const due = seen.splice(0, until < 0 ? seen.length : until);
      try {
        received.push(...(await claimVisible(lists, due, { ...options, max: max - received.length })));
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0 && received.length === 0) throw failures[0];
    if (waits && !inUse.some(isSqsQueue)) await sleep(sqs.clock, TABLE_POLL_MS, options.signal).done.catch(() => {});
    return received;
  };

  const receiveFromSqs = async (
    queueKeys: QueueKey[],
    { max, visibilityMs, skip }: ReceiveOptions,
    isWaiting: boolean,
    failures: unknown[],
  ): Promise<ReceivedMessage[]> => {
    const waitSeconds = isWaiting ? LONG_POLL_SECONDS : 0;
    // No receive is abandoned: its messages would stay hidden without a receiver.
    const outcomes = await Promise.allSettled(
      queueKeys.map((key) => receiveSkipping(sqs, key, { max, waitSeconds, visibilityMs, skip })),
    );
    failures.push(...outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])));
    const received = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    const surplus = received.slice(max);
    if (surplus.length > 0) await queues.release(surplus);
    return received.slice(0, max);
  };

  return queues;
};

const groupByTableQueue = (queueKeys: QueueKey[]): Iterable<QueueKey[]> =>
  Map.groupBy(
    queueKeys.filter((queueKey) => !isSqsQueue(queueKey)),
    ({ project, kind, name }) => `${project}/${kind}/${name}`,
  ).values();

const rankQueues = (queueKeys: QueueKey[]): ((seen: VisibleItem) => number) => {
  const positions = new Map(queueKeys.map((queueKey, position) => [queueKey, position]));
  const together = new Map<string, number>();
  for (const [{ kind, priority }, position] of positions) {
    if (kind === 'capability' && !together.has(priority)) together.set(priority, position);
  }
  return ({ queueKey }) =>
    (queueKey.kind === 'capability' ? together.get(queueKey.priority) : positions.get(queueKey)) ?? 0;
};

const isSqsQueue = ({ kind }: QueueKey): boolean => kind === 'domain' || kind === 'relay';

const partitionByBackend = <T extends { queueKey: QueueKey }>(messages: T[]): [queued: T[], listed: T[]] => {
  const { queued = [], listed = [] } = Object.groupBy(messages, ({ queueKey }) =>
    isSqsQueue(queueKey) ? 'queued' : 'listed',
  );
  return [queued, listed];
};
