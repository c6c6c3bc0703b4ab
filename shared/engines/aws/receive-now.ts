import type { QueueKey, ReceivedMessage, ReceiveOptions } from '../../ports/queues.ts';
import { claimVisible } from './dynamo-queue-receive.ts';
import { listTableItems, type ReceiveSources, rankQueues } from './receive-sources.ts';
import { isSqsQueue } from './sqs-queue.ts';

/**
 * Reads table queues first. Asks SQS only for queues ranked before the items found, or if these are too few, and for less urgent
 * ones only if the urgent ones hold too little.
 */
export const receiveNow = async (
  sources: ReceiveSources,
  active: QueueKey[],
  options: ReceiveOptions,
): Promise<ReceivedMessage[]> => {
  const { lists, poll } = sources;
  const { max } = options;
  const placeOf = rankQueues(active);
  const { seen, failures } = await listTableItems(sources, active, options);
  const received: ReceivedMessage[] = [];
  for (let position = 0; received.length < max && position < active.length; ) {
    const next = Math.min(seen[0] ? placeOf(seen[0]) : active.length, findNextWave(active, position));
    const wanted = { ...options, max: max - received.length, waitSeconds: 0 };
    // No receive is abandoned: its messages would stay hidden without a receiver.
    const outcomes = await Promise.allSettled(
      active
        .slice(position, next)
        .filter(isSqsQueue)
        .map((key) => poll(key, wanted)),
    );
    collect(outcomes, received, failures);
    const queueAfter = active.findIndex((key, at) => at >= next && isSqsQueue(key));
    position = queueAfter < 0 ? active.length : queueAfter;
    const until = seen.findIndex((one) => placeOf(one) >= position);
    const due = seen.splice(0, until < 0 ? seen.length : until);
    if (received.length < max)
      collect(
        await Promise.allSettled([claimVisible(lists, due, { ...options, max: max - received.length })]),
        received,
        failures,
      );
  }
  if (failures.length > 0 && received.length === 0) throw failures[0];
  return received;
};

const collect = (
  outcomes: PromiseSettledResult<ReceivedMessage[]>[],
  received: ReceivedMessage[],
  failures: unknown[],
): void => {
  for (const outcome of outcomes)
    if (outcome.status === 'fulfilled') received.push(...outcome.value);
    else failures.push(outcome.reason);
};

const isUrgent = ({ priority }: QueueKey): boolean => priority === 'critical' || priority === 'high';

const findNextWave = (queueKeys: QueueKey[], position: number): number => {
  const current = queueKeys[position];
  const at = queueKeys.findIndex((key, index) => index > position && !isUrgent(key));
  return at < 0 || !current || !isUrgent(current) ? queueKeys.length : at;
};
