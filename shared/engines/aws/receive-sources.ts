import type { Clock } from '../../ports/clock.ts';
import { PRIORITIES, type QueueKey, type ReceivedMessage, type ReceiveOptions } from '../../ports/queues.ts';
import type { Watcher } from '../../ports/records.ts';
import type { DynamoQueueStore } from './dynamo-queue.ts';
import { listVisible, type VisibleItem } from './dynamo-queue-receive.ts';
import { isSqsQueue } from './sqs-queue.ts';
import type { PollOptions } from './sqs-receive.ts';

export interface ReceiveSources {
  clock: Clock;
  lists: DynamoQueueStore;
  /** Asks one SQS queue. Ended early, it still returns what it has taken. */
  poll: (queueKey: QueueKey, options: PollOptions) => Promise<ReceivedMessage[]>;
  /** Hears what is written under these keys. Without it, all is looked at again and again. */
  watch?: ((keys: string[]) => Watcher) | undefined;
}

interface TableItems {
  seen: VisibleItem[];
  failures: unknown[];
}

export const listTableItems = async (
  { lists }: ReceiveSources,
  active: QueueKey[],
  options: ReceiveOptions,
): Promise<TableItems> => {
  const placeOf = rankQueues(active);
  const looked = await Promise.allSettled(
    [...groupByTableQueue(active)].map((own) => listVisible(lists, own, options)),
  );
  return {
    seen: looked
      .flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
      .toSorted((a, b) => placeOf(a) - placeOf(b) || (a.item.sk < b.item.sk ? -1 : 1)),
    failures: looked.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
  };
};

export const groupByTableQueue = (queueKeys: QueueKey[]): Iterable<QueueKey[]> =>
  Map.groupBy(
    queueKeys.filter((queueKey) => !isSqsQueue(queueKey)),
    ({ project, kind, name }) => `${project}/${kind}/${name}`,
  ).values();

export const rankQueues = (queueKeys: QueueKey[]): ((seen: VisibleItem) => number) => {
  const positions = new Map(queueKeys.map((queueKey, position) => [queueKey, position]));
  const together = new Map<string, number>();
  for (const [{ kind, priority }, position] of positions) {
    if (kind === 'capability' && !together.has(priority)) together.set(priority, position);
  }
  return ({ queueKey }) =>
    (queueKey.kind === 'capability' ? together.get(queueKey.priority) : positions.get(queueKey)) ?? 0;
};

export const formatQueueKey = ({ project, kind, name, priority }: QueueKey): string =>
  `${project}/${kind}/${name}/${PRIORITIES.indexOf(priority)}`;
