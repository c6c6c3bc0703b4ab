import { sleep } from '../../ports/clock.ts';
import type { QueueKey, ReceivedMessage, ReceiveOptions } from '../../ports/queues.ts';
import type { Watcher } from '../../ports/records.ts';
import { claimVisible } from './dynamo-queue-receive.ts';
import { formatQueueKey, listTableItems, type ReceiveSources } from './receive-sources.ts';
import { isSqsQueue } from './sqs-queue.ts';

/** The longest poll of SQS, for a lone queue. What is left of an abandoned poll may hide a message, so with others it is short. */
const LONGEST_POLL_S = 20;
const SHARED_POLL_S = 1;
/** What such a poll takes after all comes back soon. A claim needs milliseconds, and a second one of the same message is refused. */
const WAITING_VISIBILITY_MS = 10_000;
/** For the answer of a poll that ends with the wait. */
const LAST_ANSWER_MS = 200;
const RECHECK_MS = 1000;
const TABLE_RECHECK_MS = 250;

/** Waits for all queues at the same time, and answers with the first that has something. */
export const receiveFirst = async (
  sources: ReceiveSources,
  first: QueueKey[],
  listActive: () => Promise<QueueKey[]>,
  options: ReceiveOptions & { watcher?: Watcher | undefined },
): Promise<ReceivedMessage[]> => {
  const { clock, lists, poll } = sources;
  const until = clock.now() + options.waitMs;
  const ended = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
  const found: ReceivedMessage[] = [];
  const failures: unknown[] = [];
  const polls = new Map<string, Promise<void>>();
  let polled = Promise.withResolvers<void>();
  let active = first;
  let rounds = 0;
  const start = (queueKey: QueueKey): void => {
    const name = formatQueueKey(queueKey);
    if (polls.has(name)) return;
    const longestS = rounds > 0 && active.length === 1 ? LONGEST_POLL_S : SHARED_POLL_S;
    const waitSeconds = Math.min(longestS, Math.max(1, Math.ceil((until - clock.now()) / 1000)));
    const visibilityMs = Math.min(options.visibilityMs, WAITING_VISIBILITY_MS);
    const asked = poll(queueKey, { ...options, visibilityMs, waitSeconds, signal })
      .then(
        (messages) => void found.push(...messages),
        (error) => void failures.push(error),
      )
      .finally(() => {
        polls.delete(name);
        polled.resolve();
      });
    polls.set(name, asked);
  };
  for (; ; rounds++) {
    polled = Promise.withResolvers();
    for (const queueKey of active.filter(isSqsQueue)) start(queueKey);
    const pausing = new AbortController();
    const either = AbortSignal.any([signal, pausing.signal]);
    await Promise.race([polled.promise, pauseBetween(sources, active, { until, watcher: options.watcher }, either)]);
    pausing.abort();
    if (found.length > 0 || failures.length > 0 || signal.aborted || clock.now() >= until) break;
    try {
      active = await listActive();
      const table = await listTableItems(sources, active, options);
      failures.push(...table.failures);
      found.push(...(await claimVisible(lists, table.seen, options)));
    } catch (error) {
      failures.push(error);
    }
    if (found.length > 0 || failures.length > 0) break;
  }
  ended.abort();
  await Promise.all(polls.values());
  if (failures.length > 0 && found.length === 0) throw failures[0];
  const rank = new Map(active.map((key, place) => [formatQueueKey(key), place]));
  const placeOf = ({ queueKey }: ReceivedMessage): number => rank.get(formatQueueKey(queueKey)) ?? rank.size;
  return found.toSorted((a, b) => placeOf(a) - placeOf(b));
};

const pauseBetween = async (
  { clock }: ReceiveSources,
  active: QueueKey[],
  { until, watcher }: { until: number; watcher: Watcher | undefined },
  signal: AbortSignal,
): Promise<void> => {
  const isAsking = active.some(isSqsQueue);
  const leftMs = until - clock.now() + (isAsking ? LAST_ANSWER_MS : 0);
  const recheckMs = isAsking ? RECHECK_MS : TABLE_RECHECK_MS;
  // A key that has ended is looked at by whoever claims.
  await (watcher?.next(leftMs, signal) ?? sleep(clock, Math.min(recheckMs, leftMs), signal).done).catch(() => {});
};
