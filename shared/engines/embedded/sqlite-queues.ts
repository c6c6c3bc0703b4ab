import type { StatementSync } from 'node:sqlite';
import type { Json } from '../../kernel/json/json.ts';
import { RecentMap } from '../../kernel/recent-map.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import {
  addToCount,
  type Fairness,
  type QueueCounts,
  type QueueInspection,
  type QueueKey,
  type QueueMessage,
  type Queues,
  type ReceivedMessage,
  type ReceiveOptions,
} from '../../ports/queues.ts';
import type { Database } from './database.ts';
import { FairQueue, takeInTurn } from './fair-queue.ts';
import { MAX_SKIPPED, type QueuedMessage, type SkipBudget } from './queue-buffer.ts';
import { formatQueueName, getDomainQueueName, parseQueueName, toLane } from './queue-name.ts';
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

const NO_QUEUES: readonly FairQueue[] = [];

export class QueueStore {
  readonly #clock: Clock;
  readonly #fairness: Fairness;
  readonly #insert: RecordedStatement;
  readonly #select: StatementSync;
  readonly #delete: RecordedStatement;
  readonly #queues = new Map<string, FairQueue>();
  readonly #capabilityQueues = new Map<string, Set<string>>();
  readonly #sentAt = new RecentMap<string, number>(MAX_DEDUP_IDS);
  readonly #waiters = new QueueWaiters();
  #lastSeq: number;
  #turn = 0;

  constructor(db: Database, clock: Clock, fairness: Fairness = 'requester') {
    this.#clock = clock;
    this.#fairness = fairness;
    this.#insert = db.prepareWrite('INSERT INTO messages (queue, seq, grp, body) VALUES (?, ?, ?, ?)');
    this.#select = db.sql.prepare(
      'SELECT seq, grp, body FROM messages WHERE queue = ? AND seq > ? ORDER BY seq LIMIT ?',
    );
    this.#delete = db.prepareWrite('DELETE FROM messages WHERE queue = ? AND seq = ?');
    const stored = db.sql.prepare(
      'SELECT queue, count(*) AS size, min(seq) AS first FROM messages GROUP BY queue ORDER BY first',
    );
    for (const { queue, size, first } of stored.all()) {
      const { queueKey, lane } = parseQueueName(String(queue));
      const opened = this.#openQueue(queueKey);
      opened.openLane(lane, 0, Number(first));
      opened.size += Number(size);
    }
    this.#lastSeq = Number(db.sql.prepare('SELECT max(seq) AS seq FROM messages').get()?.seq ?? 0);
  }

  filterNew(messages: QueueMessage[]): QueueMessage[] {
    return messages.filter(({ queueKey, dedupId }) => this.#markNew(`${formatQueueName(queueKey)}#${dedupId}`));
  }

  /** At once: a receiver's write follows the message in the journal and is answered after it. */
  send(messages: QueueMessage[]): void {
    for (const sent of messages) {
      const { queueKey, group, body } = sent;
      const lane = toLane(sent, this.#fairness);
      this.#lastSeq += 1;
      this.#turn += 1;
      const message = { seq: this.#lastSeq, group, body: JSON.stringify(body) };
      this.#insert.run(formatQueueName(queueKey, lane), message.seq, message.group, message.body);
      const queue = this.#openQueue(queueKey);
      queue.size += 1;
      queue.openLane(lane, this.#turn).buffer.add(message);
      this.#wakeOne(queueKey, body);
    }
  }

  receive(queueKeys: QueueKey[], { max, visibilityMs, skip }: ReceiveOptions): ReceivedMessage[] {
    const now = this.#clock.now();
    const isLeft = ({ body }: QueuedMessage): boolean => skip?.(JSON.parse(body)) ?? false;
    const received: ReceivedMessage[] = [];
    for (const queueKey of queueKeys) {
      if (received.length >= max) break;
      const queues = this.#getQueues(queueKey, now);
      if (queues.length === 0) continue;
      const budget: SkipBudget = { left: MAX_SKIPPED, isLeft };
      while (received.length < max) {
        const taken = takeInTurn(queues, now + visibilityMs, budget);
        if (!taken) break;
        const { message, from, lane } = taken;
        this.#endTurn(from.queueKey, lane);
        const { group, body, seq } = message;
        received.push({ queueKey: from.queueKey, group, body: JSON.parse(body), receipt: `${seq}~${lane}` });
      }
    }
    return received;
  }

  count(queueKeys: QueueKey[], { max, skip }: Pick<ReceiveOptions, 'max' | 'skip'>): QueueCounts {
    const now = this.#clock.now();
    const isSkipped = ({ body }: QueuedMessage): boolean => skip?.(JSON.parse(body)) ?? false;
    const counts: QueueCounts = {};
    for (const queueKey of queueKeys) {
      for (const queue of this.#getQueues(queueKey, now))
        addToCount(counts, queueKey.priority, queue.count(max, isSkipped), max);
    }
    return counts;
  }

  inspect(queueKey: QueueKey, max: number): QueueInspection {
    const name = formatQueueName(queueKey);
    const domain = getDomainQueueName(queueKey);
    const queue = this.#queues.get(name);
    const oldest = queue?.listOldest(max, MAX_FEW_SHOWN) ?? [];
    return {
      messages: queue?.size ?? 0,
      isExact: true,
      oldest: oldest.map(({ group, body }) => ({ group, body: JSON.parse(body) })),
      receivers: this.#waiters.count(domain === undefined ? [name] : [name, domain]),
    };
  }

  /** With those of its capabilities, which are parts of the queue of a domain. */
  #getQueues(queueKey: QueueKey, now: number): readonly FairQueue[] {
    const name = formatQueueName(queueKey);
    const own = this.#queues.get(name);
    const within = this.#capabilityQueues.get(name);
    // A claim asks for a dozen queues, and most have nothing.
    if (!own && !within) return NO_QUEUES;
    const parts = [...(within ?? [])].flatMap((part) => this.#queues.get(part) ?? []);
    const found = own ? [own, ...parts] : parts;
    for (const queue of found) queue.releaseExpired(now);
    return found;
  }

  /** A requester has one turn in a domain and all of its capabilities. */
  #endTurn(queueKey: QueueKey, lane: string): void {
    this.#turn += 1;
    const own = formatQueueName(queueKey);
    const domain = getDomainQueueName(queueKey) ?? own;
    this.#queues.get(own)?.moveToBack(lane, this.#turn);
    if (domain !== own) this.#queues.get(domain)?.moveToBack(lane, this.#turn);
    for (const part of this.#capabilityQueues.get(domain) ?? [])
      if (part !== own) this.#queues.get(part)?.moveToBack(lane, this.#turn);
  }

  delete(messages: ReceivedMessage[]): void {
    for (const { queueKey, receipt, body } of messages) {
      const { seq, lane } = parseReceipt(receipt);
      const queue = this.#queues.get(formatQueueName(queueKey));
      if (queue?.delete(lane, seq)) this.#wakeOne(queueKey, body);
      const { changes } = this.#delete.run(formatQueueName(queueKey, lane), seq);
      if (!queue) continue;
      queue.size -= Number(changes);
      // There is a queue per agent and instance.
      if (queue.isEmpty) this.#closeQueue(queueKey);
    }
  }

  release(messages: ReceivedMessage[]): void {
    for (const { queueKey, receipt, body } of messages) {
      const { seq, lane } = parseReceipt(receipt);
      if (this.#queues.get(formatQueueName(queueKey))?.release(lane, seq)) this.#wakeOne(queueKey, body);
    }
  }

  waitForMessage(queueKeys: QueueKey[], ms: number, { skip, signal }: ReceiveOptions): Promise<void> {
    const rest = sleep(this.#clock, Math.min(ms, MAX_WAIT_MS), signal);
    const waiter = this.#waiters.add({
      queueNames: queueKeys.map((queueKey) => formatQueueName(queueKey)),
      skip,
      sleep: rest,
    });
    return waiter.sleep.done.finally(() => this.#waiters.delete(waiter));
  }

  wakeOthers(queueKeys: QueueKey[]): void {
    for (const queueKey of queueKeys) {
      this.#wakeOne(queueKey);
      for (const name of this.#capabilityQueues.get(formatQueueName(queueKey)) ?? [])
        this.#wakeOne(parseQueueName(name).queueKey);
    }
  }

  #openQueue(queueKey: QueueKey): FairQueue {
    const name = formatQueueName(queueKey);
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new FairQueue(queueKey, (lane, after, limit) =>
      this.#readMessages(formatQueueName(queueKey, lane), after, limit),
    );
    this.#queues.set(name, queue);
    const domain = getDomainQueueName(queueKey);
    if (domain !== undefined)
      this.#capabilityQueues.set(domain, (this.#capabilityQueues.get(domain) ?? new Set()).add(name));
    return queue;
  }

  #readMessages(name: string, after: number, limit: number): QueuedMessage[] {
    return this.#select.all(name, after, limit).map(({ seq, grp, body }) => ({
      seq: Number(seq),
      group: String(grp),
      body: String(body),
    }));
  }

  #closeQueue(queueKey: QueueKey): void {
    const name = formatQueueName(queueKey);
    this.#queues.delete(name);
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

const parseReceipt = (receipt: string): { seq: number; lane: string } => {
  const at = receipt.indexOf('~');
  return { seq: Number(receipt.slice(0, at)), lane: receipt.slice(at + 1) };
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
