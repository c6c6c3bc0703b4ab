import { setImmediate as turn } from 'node:timers/promises';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { Blobs } from '../../shared/ports/blobs.ts';
import type { Events } from '../../shared/ports/events.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { Queues, ReceivedMessage } from '../../shared/ports/queues.ts';
import type { Item, Records, Watcher } from '../../shared/ports/records.ts';

/** From 0 up to, but without, 1. */
export type Random = () => number;

/** The same numbers for the same seed (mulberry32). */
export const seeded = (seed: number): Random => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** How often each thing goes wrong that a contract allows to. */
const STALE = 0.3;
const CONFLICT = 0.1;
const ANSWER_LOST = 0.15;
const SEND_FAILS = 0.2;
const EMPTY_BY_MISTAKE = 0.2;
const RECEIPT_LOST = 0.03;
const TWICE = 0.2;
const NOT_DELETED = 0.1;
const FALSE_ALARM = 0.3;

/** An engine that does on purpose everything that the contracts allow, so that nobody can rely on its being better. */
export const hostilePorts = (ports: Ports, random: Random): Ports => {
  const chance = (share: number): boolean => random() < share;
  return {
    records: hostileRecords(ports.records, random, chance),
    queues: hostileQueues(ports.queues, random, chance),
    events: hostileEvents(ports.events, chance),
    blobs: hostileBlobs(ports.blobs, chance),
  };
};

type Chance = (share: number) => boolean;

/** Lets others run in between, now and then. */
const dawdle = async (random: Random): Promise<void> => {
  for (let turns = Math.floor(random() * 4); turns > 0; turns--) await turn();
};

const hostileRecords = (records: Records, random: Random, chance: Chance): Records => {
  const earlier = new Map<string, Item[][]>();
  const stale = async <T extends Item>(query: Parameters<Records['query']>[0]): Promise<T[]> => {
    const known = earlier.get(JSON.stringify(query)) ?? [[]];
    const old = known[Math.floor(random() * known.length)];
    if (chance(STALE) && old) return old as T[];
    const found = await records.query<T>(query);
    earlier.set(JSON.stringify(query), [...known, found].slice(-4));
    return found;
  };
  /** A write that meets another, or one whose answer is lost, so that something below the port repeats it. */
  const write = async <R>(once: () => Promise<R>): Promise<R> => {
    await dawdle(random);
    if (chance(CONFLICT)) throw new ParleyError('conflict', 'hostile: another write was in the way');
    const answer = await once();
    if (!chance(ANSWER_LOST)) return answer;
    await dawdle(random);
    return once();
  };
  return {
    get: (ref) => records.get(ref),
    getMany: (refs) => records.getMany(refs),
    query: (query) => (query.index ? stale(query) : records.query(query)),
    list: (query, options) => records.list(query, options),
    count: (query) => records.count(query),
    create: (item, token) => write(() => records.create(item, token)),
    update: (ref, change, token, orCreate) => write(() => records.update(ref, change, token, orCreate)),
    transact: (writes, token) => write(() => records.transact(writes, token)),
    delete: async (key) => {
      await records.delete(key);
      if (chance(ANSWER_LOST)) await records.delete(key);
    },
    watch: (pk) => jumpy(records.watch(pk), chance),
  };
};

const jumpy = (listener: Watcher, chance: Chance): Watcher => ({
  next: (ms, signal) => (chance(FALSE_ALARM) ? turn() : listener.next(ms, signal)),
  close: () => listener.close(),
});

/** What was received lately, to be delivered once more to whoever asks the same lane. */
const REPEATABLE = 50;

const hostileQueues = (queues: Queues, random: Random, chance: Chance): Queues => {
  const past: ReceivedMessage[] = [];
  const repeated = (lanes: Parameters<Queues['receive']>[0]): ReceivedMessage[] => {
    const known = past.filter(({ queueKey }) =>
      lanes.some((asked) => JSON.stringify(asked) === JSON.stringify(queueKey)),
    );
    const again = known[Math.floor(random() * known.length)];
    return again && chance(TWICE) ? [again] : [];
  };
  return {
    send: async (messages) => {
      await dawdle(random);
      if (chance(SEND_FAILS / 2)) throw new Error('hostile: it was not sent');
      await queues.send(messages);
      if (chance(SEND_FAILS / 2)) throw new Error('hostile: it was sent, but the answer is lost');
    },
    receive: async (lanes, options) => {
      await dawdle(random);
      if (chance(EMPTY_BY_MISTAKE)) return [];
      const again = repeated(lanes);
      const left = options.max - again.length;
      const waitMs = again.length > 0 ? 0 : options.waitMs;
      const received = left > 0 ? await queues.receive(lanes, { ...options, max: left, waitMs }) : [];
      past.push(...received);
      past.splice(0, past.length - REPEATABLE);
      return chance(RECEIPT_LOST) ? [] : [...again, ...received];
    },
    delete: (messages) => queues.delete(messages.filter(() => !chance(NOT_DELETED))),
    release: (messages) => queues.release(messages.filter(() => !chance(NOT_DELETED))),
    count: (lanes, options) => queues.count(lanes, options),
    inspect: (lanes, max) => queues.inspect(lanes, max),
  };
};

const hostileEvents = (events: Events, chance: Chance): Events => ({
  publish: async (published) => {
    await events.publish(published);
    if (chance(TWICE)) await events.publish(published);
    if (chance(SEND_FAILS / 4)) throw new Error('hostile: it was published, but the answer is lost');
  },
  read: (project, options) => events.read(project, options),
  getEnd: (project) => events.getEnd(project),
  findPositionAt: (project, time) => events.findPositionAt(project, time),
  waitForMore: (project, cursor, ms, signal) =>
    chance(FALSE_ALARM) ? turn() : events.waitForMore(project, cursor, ms, signal),
});

const hostileBlobs = (blobs: Blobs, chance: Chance): Blobs => ({
  put: async (key, content) => {
    await blobs.put(key, content);
    if (chance(ANSWER_LOST)) await blobs.put(key, content);
  },
  get: (key) => blobs.get(key),
  retain: async (key) => {
    await blobs.retain(key);
    if (chance(ANSWER_LOST)) await blobs.retain(key);
  },
  delete: async (key) => {
    await blobs.delete(key);
    if (chance(ANSWER_LOST)) await blobs.delete(key);
  },
});
