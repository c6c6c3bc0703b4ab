import type { QueueKey, QueueMessage, Queues } from '../../ports/queues.ts';
import type { TurnAssigner } from './assign-turns.ts';
import { coalesce } from './coalesce.ts';
import { enqueueItems, queuePk } from './dynamo-queue.ts';
import type { InspectQueues } from './inspect-queues.ts';
import { QueueActivityIndex, type QueueActivityStore, queueActivityRef } from './queue-activity-index.ts';
import type { ReceiveSources } from './receive-sources.ts';
import type { Ring } from './ring-on-writes.ts';
import { partitionByBackend, type SqsQueues, sendToSqs } from './sqs-queue.ts';

/** Of a process that receives for many at the same time. */
export type SharedReceive = Pick<ReceiveSources, 'poll' | 'watch'>;

export interface ReceiverOptions extends Partial<SharedReceive> {
  /** Called with a queue of a domain whose messages have waited for long. */
  onLate?: (queueKey: QueueKey) => Promise<void>;
}

/**
 * Domains and relays have SQS queues. Agents and capabilities are unbounded in number, so their queues are in the
 * table.
 */
export const createAwsQueues = (
  sqs: SqsQueues,
  lists: QueueActivityStore,
  inspect: InspectQueues,
  { shared, ring }: { shared?: SharedReceive | undefined; ring?: Ring | undefined } = {},
): Queues => {
  const activityIndex = new QueueActivityIndex(lists, ring);
  // Most functions send no new task.
  let turns: Promise<TurnAssigner> | undefined;
  const loadTurns = (): Promise<TurnAssigner> => {
    turns ??= import('./assign-turns.ts').then(({ TurnAssigner: Assigner }) => new Assigner(lists));
    return turns;
  };
  const sendQueued = coalesce((messages: QueueMessage[]) => sendToSqs(sqs, messages));
  // Ingest only sends.
  let receiver: Promise<Pick<Queues, 'receive' | 'delete' | 'release' | 'count'>> | undefined;
  const load = () => {
    receiver ??= import('./receive-messages.ts').then(({ createReceiver }) =>
      createReceiver(sqs, lists, activityIndex, {
        ...shared,
        onLate: async (queueKey) => (await loadTurns()).markCrowded(queueKey),
      }),
    );
    return receiver;
  };
  return {
    send: async (messages) => {
      const [queued, listed] = partitionByBackend(messages);
      await Promise.all([
        queued.length > 0 && sendQueued(queued),
        activityIndex.recordActivity(messages.map(({ queueKey }) => queueKey)),
        enqueueItems(lists, listed),
      ]);
      // A receive from a domain waits for its capabilities too.
      const keys = listed.flatMap(({ queueKey }) => [queuePk(queueKey), queueActivityRef(queueKey).pk]);
      if (ring && keys.length > 0) await ring(keys);
    },
    assignTurn: async (queueKey, share) => (await loadTurns()).assignTurn(queueKey, share),
    receive: async (...args) => (await load()).receive(...args),
    delete: async (...args) => (await load()).delete(...args),
    release: async (...args) => (await load()).release(...args),
    count: async (...args) => (await load()).count(...args),
    inspect: (queueKeys, max) => inspect({ sqs, lists }, queueKeys, max),
  };
};
