import { equals } from '../../ports/conditions.ts';
import type { QueueKey, ReceivedMessage, ReceiveOptions } from '../../ports/queues.ts';
import type { Records, Ref } from '../../ports/records.ts';
import { type DynamoQueueStore, getPriorityPrefix, getShardKeys, type QueuedItem } from './dynamo-queue.ts';

const EXTRA_READ = 25;

export interface VisibleItem {
  item: QueuedItem;
  queueKey: QueueKey;
}

/** Priorities of one name share a list; higher ones sort first. */
export const listVisible = async (
  { records, clock }: DynamoQueueStore,
  queueKeys: QueueKey[],
  { max, skip }: Pick<ReceiveOptions, 'max' | 'skip'>,
): Promise<VisibleItem[]> => {
  const [first] = queueKeys;
  if (!first) return [];
  const now = clock.now();
  const lists = getShardKeys(first).map((p) => queryShard(records, p, max + EXTRA_READ, skip));
  const found = (await Promise.all(lists)).flat().toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
  return found.flatMap((item) => {
    const queueKey = queueKeys.find((candidate) => item.sk.startsWith(getPriorityPrefix(candidate)));
    return queueKey && item.hiddenUntil <= now ? [{ item, queueKey }] : [];
  });
};

export const claimVisible = async (
  { records, clock, newId }: DynamoQueueStore,
  seen: VisibleItem[],
  { max, visibilityMs }: Pick<ReceiveOptions, 'max' | 'visibilityMs'>,
): Promise<ReceivedMessage[]> => {
  const now = clock.now();
  const waiting = [...seen];
  const claimItem = async ({ item, queueKey }: VisibleItem): Promise<ReceivedMessage[]> => {
    const { pk, sk, v, group, body } = item;
    const token = newId();
    const hidden = { if: equals('v', v), set: { hiddenUntil: now + visibilityMs } };
    const written = await records.update<QueuedItem>({ pk, sk }, hidden, token);
    return written.outcome === 'refused' ? [] : [{ queueKey, group, body, receipt: JSON.stringify([token, pk, sk]) }];
  };
  const taken: ReceivedMessage[] = [];
  while (taken.length < max && waiting.length > 0) {
    const next = waiting.splice(0, max - taken.length);
    taken.push(...(await Promise.all(next.map(claimItem))).flat());
  }
  return taken;
};

const MAX_READS = 10;

const queryShard = async (
  records: Records,
  p: string,
  limit: number,
  leaves: ReceiveOptions['skip'],
): Promise<QueuedItem[]> => {
  const found: QueuedItem[] = [];
  let after: string | undefined;
  for (let reads = 0; reads < MAX_READS && found.length < limit; reads++) {
    const page = await records.query<QueuedItem>({ pk: p, after, limit });
    found.push(...page.filter(({ body }) => !leaves?.(body)));
    if (page.length < limit) break;
    after = page.at(-1)?.sk;
  }
  return found;
};

const parseReceipt = ({ receipt }: ReceivedMessage): { token: string; ref: Ref<QueuedItem> } => {
  const [token, pk, sk]: [string, string, string] = JSON.parse(receipt);
  return { token, ref: { pk, sk } };
};

export const deleteQueued = async ({ records }: DynamoQueueStore, messages: ReceivedMessage[]): Promise<void> => {
  await Promise.all(messages.map((message) => records.delete(parseReceipt(message).ref)));
};

export const releaseQueued = async (
  { records, newId }: DynamoQueueStore,
  messages: ReceivedMessage[],
): Promise<void> => {
  const released = messages.map((message) => {
    const { token, ref } = parseReceipt(message);
    return records.update(ref, { if: equals('token', token), set: { hiddenUntil: 0 } }, newId());
  });
  await Promise.all(released);
};
