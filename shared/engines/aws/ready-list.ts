import { fingerprint } from '../../json/fingerprint.ts';
import type { Json } from '../../json/json.ts';
import type { Clock } from '../../ports/clock.ts';
import { is } from '../../ports/conditions.ts';
import { type Lane, type Outgoing, PRIORITIES, type Received, type ReceiveOptions } from '../../ports/queues.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import { PLACE_SHARDS, shardsOf } from './attributes.ts';

/** A task that waits for one agent, or for one of those with a capability. */
interface Ready extends Item {
  group: string;
  body: Json;
  /** Hidden from others until then, in epoch milliseconds. */
  hiddenUntil: number;
}

export interface ReadyLists {
  records: Records;
  clock: Clock;
  newId: () => string;
}

/** No agent's name has the sign that parts a kind from a name. */
const listPk = ({ project, kind, name }: Lane): string =>
  kind === 'agent' ? `${project}#ready#${name}` : `${project}#ready#${kind}#${name}`;
/** As for the places of an index: a busy agent's list is spread. */
const shardFor = (lane: Lane, dedup: string): string => `${listPk(lane)}#${(dedup.codePointAt(0) ?? 0) % PLACE_SHARDS}`;
const prefixOf = ({ priority }: Lane): string => `${PRIORITIES.indexOf(priority)}#`;

/** Longer than a task can wait to be claimed: 7 days. */
const KEPT_MS = 8 * 86_400_000;

/** The time is the task's own, so that the fast path and the dispatcher write the same record. */
export const addToLists = async ({ records, clock, newId }: ReadyLists, messages: Outgoing[]): Promise<void> => {
  const added = messages.map(({ lane, at, dedup, group, body }) => {
    const print = fingerprint(dedup);
    const ref: Ref<Ready> = {
      pk: shardFor(lane, print),
      sk: `${prefixOf(lane)}${String(at).padStart(14, '0')}#${print}`,
    };
    const expires = clock.now() + KEPT_MS;
    return records.create<Ready>({ ...ref, group, body, hiddenUntil: 0, expires }, newId());
  });
  await Promise.all(added);
};

/** How many a receive looks at beyond what it wants, past those that others are working on. */
const LOOKED_AT = 25;

/** From the lanes of one name, which are one list: those of higher priority come first in it. */
export const takeFromList = async (
  { records, clock, newId }: ReadyLists,
  lanes: Lane[],
  { max, visibilityMs, leaves }: ReceiveOptions,
): Promise<Received[]> => {
  const [first] = lanes;
  if (!first) return [];
  const now = clock.now();
  const lists = shardsOf(listPk(first)).map((p) => listed(records, p, max + LOOKED_AT, leaves));
  const found = (await Promise.all(lists)).flat().toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
  const waiting = found.flatMap((ready) => {
    const lane = lanes.find((candidate) => ready.sk.startsWith(prefixOf(candidate)));
    return lane && ready.hiddenUntil <= now ? [{ ready, lane }] : [];
  });
  const take = async ({ ready, lane }: { ready: Ready; lane: Lane }): Promise<Received[]> => {
    const { pk, sk, v, group, body } = ready;
    const token = newId();
    const hidden = { if: is('v', v), set: { hiddenUntil: now + visibilityMs } };
    const written = await records.update<Ready>({ pk, sk }, hidden, token);
    return written.outcome === 'refused' ? [] : [{ lane, group, body, receipt: JSON.stringify([token, pk, sk]) }];
  };
  const taken: Received[] = [];
  while (taken.length < max && waiting.length > 0) {
    const next = waiting.splice(0, max - taken.length);
    taken.push(...(await Promise.all(next.map(take))).flat());
  }
  return taken;
};

/** How often a list is read on, past what is left to others. */
const READS = 10;

/** The first of a list, but for what is left to others. */
const listed = async (
  records: Records,
  p: string,
  limit: number,
  leaves: ReceiveOptions['leaves'],
): Promise<Ready[]> => {
  const found: Ready[] = [];
  let after: string | undefined;
  for (let reads = 0; reads < READS && found.length < limit; reads++) {
    const page = await records.query<Ready>({ p, after, limit });
    found.push(...page.filter(({ body }) => !leaves?.(body)));
    if (page.length < limit) break;
    after = page.at(-1)?.sk;
  }
  return found;
};

const receiptOf = ({ receipt }: Received): { token: string; ref: Ref<Ready> } => {
  const [token, pk, sk]: [string, string, string] = JSON.parse(receipt);
  return { token, ref: { pk, sk } };
};

export const removeFromLists = async ({ records }: ReadyLists, messages: Received[]): Promise<void> => {
  await Promise.all(messages.map((message) => records.remove(receiptOf(message).ref)));
};

/** Only what is still this receiver's: its token is the last one written. */
export const releaseToLists = async ({ records, newId }: ReadyLists, messages: Received[]): Promise<void> => {
  const released = messages.map((message) => {
    const { token, ref } = receiptOf(message);
    return records.update(ref, { if: is('token', token), set: { hiddenUntil: 0 } }, newId());
  });
  await Promise.all(released);
};
