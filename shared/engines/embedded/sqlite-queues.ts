import type { StatementSync } from 'node:sqlite';
import type { Json } from '../../kernel/json/json.ts';
import { RecentMap } from '../../kernel/recent-map.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import {
  addToCount,
  getDomain,
  PRIORITIES,
  type QueueCounts,
  type QueueInspection,
  type QueueKey,
  type QueueMessage,
  type Queues,
  type ReceivedMessage,
  type ReceiveOptions,
} from '../../ports/queues.ts';
import type { Database } from './database.ts';
import { QueueBuffer, type QueuedMessage } from './queue-buffer.ts';
import { QueueWaiters } from './queue-waiters.ts';
import type { RecordedStatement } from './sqlite-file.ts';
import type { Durability } from './sqlite-records.ts';

/** The dispatcher repeats an eager enqueue within milliseconds. */
const MAX_DEDUP_IDS = 20_000;
/** The window of SQS. */
const DEDUP_WINDOW_MS = 5 * 60_000;
const MAX_WAIT_MS = 1000;
/** Of a queue that holds too many to show. */
const MAX_FEW_SHOWN = 25;

export class QueueStore {
  readonly #clock: Clock;
  readonly #insert: RecordedStatement;
  readonly #select: StatementSync;
  readonly #delete: RecordedStatement;
  readonly #buffers = new Map<string, QueueBuffer>();
  /** How many messages are stored, by queue. */
  readonly #sizes = new Map<string, number>();
  readonly #capabilityQueues = new Map<string, Set<string>>();
  readonly #sentAt = new RecentMap<string, number>(MAX_DEDUP_IDS);
  readonly #waiters = new QueueWaiters();
  #lastSeq: number;

  constructor(db: Database, clock: Clock) {
    this.#clock = clock;
    this.#insert = db.prepareWrite('INSERT INTO messages (queue, seq, grp, body) VALUES (?, ?, ?, ?)');
    this.#select = db.sql.prepare(
      'SELECT seq, grp, body FROM messages WHERE queue = ? AND seq > ? ORDER BY seq LIMIT ?',
    );
    this.#delete = db.prepareWrite('DELETE FROM messages WHERE queue = ? AND seq = ?');
    for (const { queue, size } of db.sql.prepare('SELECT queue, count(*) AS size FROM messages GROUP BY queue').all()) {
      this.#openBuffer(parseQueueName(String(queue)), true);
      this.#sizes.set(String(queue), Number(size));
    }
    this.#lastSeq = Number(db.sql.prepare('SELECT max(seq) AS seq FROM messages').get()?.seq ?? 0);
  }

  filterNew(messages: QueueMessage[]): QueueMessage[] {
    return messages.filter(({ queueKey, dedupId }) => this.#markNew(`${formatQueueName(queueKey)}#${dedupId}`));
  }

  /** At once: a receiver's write follows the message in the journal and is answered after it. */
  send(messages: QueueMessage[]): void {
    for (const { queueKey, group, body } of messages) {
      const name = formatQueueName(queueKey);
      this.#lastSeq += 1;
      const message = { seq: this.#lastSeq, group, body: JSON.stringify(body) };
      this.#insert.run(name, message.seq, message.group, message.body);
      this.#sizes.set(name, (this.#sizes.get(name) ?? 0) + 1);
      const buffer = this.#buffers.get(name) ?? this.#openBuffer(queueKey, false);
      buffer.add(message);
      this.#wakeOne(queueKey, body);
    }
  }

  receive(queueKeys: QueueKey[], { max, visibilityMs, skip }: ReceiveOptions): ReceivedMessage[] {
    const now = this.#clock.now();
    const isSkipped = ({ body }: QueuedMessage): boolean => skip?.(JSON.parse(body)) ?? false;
    const received: ReceivedMessage[] = [];
    for (const queueKey of queueKeys) {
      const name = formatQueueName(queueKey);
      const within = this.#capabilityQueues.get(name);
      const buffers = within && this.#getBuffers([name, ...within], now);
      const buffer = buffers ? undefined : this.#buffers.get(name);
      buffer?.releaseExpired(now);
      while (received.length < max) {
        const taken = buffers
          ? takeOldest(buffers, now + visibilityMs, isSkipped)
          : buffer?.take(now + visibilityMs, isSkipped);
        if (!taken) break;
        const { message, from } = 'from' in taken ? taken : { message: taken, from: queueKey };
        const { group, body, seq } = message;
        received.push({ queueKey: from, group, body: JSON.parse(body), receipt: String(seq) });
      }
    }
    return received;
  }

  count(queueKeys: QueueKey[], { max, skip }: Pick<ReceiveOptions, 'max' | 'skip'>): QueueCounts {
    const now = this.#clock.now();
    const isSkipped = ({ body }: QueuedMessage): boolean => skip?.(JSON.parse(body)) ?? false;
    const counts: QueueCounts = {};
    for (const queueKey of queueKeys) {
      const name = formatQueueName(queueKey);
      for (const { buffer } of this.#getBuffers([name, ...(this.#capabilityQueues.get(name) ?? [])], now))
        addToCount(counts, queueKey.priority, buffer.count(max, isSkipped), max);
    }
    return counts;
  }

  inspect(queueKey: QueueKey, max: number): QueueInspection {
    const name = formatQueueName(queueKey);
    const domain = getDomainQueueName(queueKey);
    const messages = this.#sizes.get(name) ?? 0;
    const oldest = messages === 0 ? [] : this.#readMessages(name, 0, messages > max ? MAX_FEW_SHOWN : max);
    return {
      messages,
      isExact: true,
      oldest: oldest.map(({ group, body }) => ({ group, body: JSON.parse(body) })),
      receivers: this.#waiters.count(domain === undefined ? [name] : [name, domain]),
    };
  }

  #getBuffers(names: string[], now: number): NamedBuffer[] {
    return names.flatMap((name) => {
      const buffer = this.#buffers.get(name);
      buffer?.releaseExpired(now);
      return buffer ? [{ queueKey: parseQueueName(name), buffer }] : [];
    });
  }

  delete(messages: ReceivedMessage[]): void {
    for (const { queueKey, receipt, body } of messages) {
      const name = formatQueueName(queueKey);
      const buffer = this.#buffers.get(name);
      if (buffer?.delete(Number(receipt))) this.#wakeOne(queueKey, body);
      // There is a queue per agent and instance.
      if (buffer?.isEmpty) this.#closeBuffer(queueKey);
      const { changes } = this.#delete.run(name, Number(receipt));
      const size = (this.#sizes.get(name) ?? 0) - Number(changes);
      if (size > 0) this.#sizes.set(name, size);
      else this.#sizes.delete(name);
    }
  }

  release(messages: ReceivedMessage[]): void {
    for (const { queueKey, receipt, body } of messages) {
      const name = formatQueueName(queueKey);
      if (this.#buffers.get(name)?.release(Number(receipt))) this.#wakeOne(queueKey, body);
    }
  }

  waitForMessage(queueKeys: QueueKey[], ms: number, { skip, signal }: ReceiveOptions): Promise<void> {
    const rest = sleep(this.#clock, Math.min(ms, MAX_WAIT_MS), signal);
    const waiter = this.#waiters.add({ queueNames: queueKeys.map(formatQueueName), skip, sleep: rest });
    return waiter.sleep.done.finally(() => this.#waiters.delete(waiter));
  }

  wakeOthers(queueKeys: QueueKey[]): void {
    for (const queueKey of queueKeys) {
      this.#wakeOne(queueKey);
      for (const name of this.#capabilityQueues.get(formatQueueName(queueKey)) ?? [])
        this.#wakeOne(parseQueueName(name));
    }
  }

  #openBuffer(queueKey: QueueKey, hasMore: boolean): QueueBuffer {
    const name = formatQueueName(queueKey);
    const buffer = new QueueBuffer((after, limit) => this.#readMessages(name, after, limit), hasMore);
    this.#buffers.set(name, buffer);
    const domain = getDomainQueueName(queueKey);
    if (domain !== undefined)
      this.#capabilityQueues.set(domain, (this.#capabilityQueues.get(domain) ?? new Set()).add(name));
    return buffer;
  }

  #readMessages(name: string, after: number, limit: number): QueuedMessage[] {
    return this.#select.all(name, after, limit).map(({ seq, grp, body }) => ({
      seq: Number(seq),
      group: String(grp),
      body: String(body),
    }));
  }

  #closeBuffer(queueKey: QueueKey): void {
    const name = formatQueueName(queueKey);
    this.#buffers.delete(name);
    const domain = getDomainQueueName(queueKey);
    const within = domain === undefined ? undefined : this.#capabilityQueues.get(domain);
    within?.delete(name);
    if (domain !== undefined && within?.size === 0) this.#capabilityQueues.delete(domain);
  }

  #wakeOne(queueKey: QueueKey, body?: Json): void {
    const domain = getDomainQueueName(queueKey);
    this.#waiters.wakeOne(
      domain === undefined ? [formatQueueName(queueKey)] : [formatQueueName(queueKey), domain],
      body,
    );
  }

  #markNew(id: string): boolean {
    const now = this.#clock.now();
    const sentAt = this.#sentAt.get(id);
    if (sentAt !== undefined && now - sentAt < DEDUP_WINDOW_MS) return false;
    this.#sentAt.set(id, now);
    return true;
  }
}

const formatQueueName = ({ project, kind, name, priority }: QueueKey): string =>
  `${project}/${kind}/${name}/${priority}`;

interface NamedBuffer {
  queueKey: QueueKey;
  buffer: QueueBuffer;
}

const takeOldest = (
  buffers: NamedBuffer[],
  until: number,
  isLeft: (message: QueuedMessage) => boolean,
): { message: QueuedMessage; from: QueueKey } | undefined => {
  for (const { queueKey, buffer } of buffers.toSorted((a, b) => a.buffer.firstSeq - b.buffer.firstSeq)) {
    const message = buffer.take(until, isLeft);
    if (message) return { message, from: queueKey };
  }
  return undefined;
};

const QUEUE_NAME = /^(?<project>[^/]*)\/(?<kind>domain|agent|capability|relay)\/(?<name>.*)\/(?<priority>[^/]*)$/s;

const parseQueueName = (name: string): QueueKey => {
  const parts = QUEUE_NAME.exec(name)?.groups ?? {};
  const priority = PRIORITIES.find((known) => known === parts.priority);
  const kind = QUEUE_KINDS.find((known) => known === parts.kind);
  if (!priority || !kind) throw new Error(`${name} is not the name of a queue`);
  return { project: parts.project ?? '', kind, name: parts.name ?? '', priority };
};

const QUEUE_KINDS = ['domain', 'agent', 'capability', 'relay'] as const;

const getDomainQueueName = ({ project, kind, name, priority }: QueueKey): string | undefined => {
  const domain = kind === 'capability' ? getDomain(name) : undefined;
  return domain === undefined ? undefined : formatQueueName({ project, kind: 'domain', name: domain, priority });
};

/**
 * A lost message is sent again from its record's change. A claim's write follows the message in the journal. The relay
 * writes nothing, so it waits for the disk.
 */
export const createSqliteQueues = (db: Database, store: QueueStore, clock: Clock, durability: Durability): Queues => ({
  send: async (messages) => {
    // A rejected message must not count as a duplicate later.
    db.assertCapacity('following');
    const fresh = store.filterNew(messages);
    if (fresh.length === 0) return;
    const send = (): void => store.send(fresh);
    await (durability === 'soon' ? db.writeAsync(send) : db.writeUnsynced(send));
  },
  delete: async (messages) => {
    const remove = (): void => store.delete(messages);
    await (durability === 'soon' ? db.writeAsync(remove) : db.writeUnsynced(remove));
  },
  release: async (messages) => store.release(messages),
  count: async (queueKeys, options) => store.count(queueKeys, options),
  inspect: async (queueKeys, max) => db.readUnsynced(() => queueKeys.map((queueKey) => store.inspect(queueKey, max))),
  receive: async (queueKeys, options) => {
    const until = clock.now() + options.waitMs;
    while (!options.signal?.aborted) {
      const left = until - clock.now();
      // One step: no message arrives unnoticed between check and wait.
      const received = db.readUnsynced(() => store.receive(queueKeys, options));
      if (received.length === 0 && left > 0) {
        await store.waitForMessage(queueKeys, left, options);
        continue;
      }
      if (queueKeys.some(({ kind }) => kind === 'relay')) await db.waitForSync();
      return received;
    }
    store.wakeOthers(queueKeys);
    return [];
  },
});
