import type { StatementSync } from 'node:sqlite';
import type { Json } from '../../json/json.ts';
import { type Clock, type Nap, nap } from '../../ports/clock.ts';
import type { Lane, Outgoing, Queues, Received, ReceiveOptions } from '../../ports/queues.ts';
import type { Database } from './database.ts';
import { LaneStock, type Waiting } from './lane-stock.ts';
import type { Care } from './records.ts';
import type { Writer } from './sqlite-file.ts';

interface Waiter {
  lanes: ReadonlySet<string>;
  leaves?: ReceiveOptions['leaves'];
  nap: Nap;
}

/** As many deduplication ids as are remembered: what follows a fast path within milliseconds needs far fewer. */
const REMEMBERED = 20_000;
/** As long as SQS does. */
const DEDUPLICATED_MS = 5 * 60_000;
/** A receive that found nothing looks again this often, for what has lapsed meanwhile. */
const ROUND_MS = 1000;

export class QueueStore {
  readonly #clock: Clock;
  readonly #insert: Writer;
  readonly #select: StatementSync;
  readonly #delete: Writer;
  readonly #stocks = new Map<string, LaneStock>();
  /** When each deduplication id was sent. */
  readonly #sent = new Map<string, number>();
  readonly #waiters = new Set<Waiter>();
  #lastSeq: number;

  constructor(db: Database, clock: Clock) {
    this.#clock = clock;
    this.#insert = db.writer('INSERT INTO messages (lane, seq, grp, body) VALUES (?, ?, ?, ?)');
    this.#select = db.sql.prepare(
      'SELECT seq, grp, body FROM messages WHERE lane = ? AND seq > ? ORDER BY seq LIMIT ?',
    );
    this.#delete = db.writer('DELETE FROM messages WHERE lane = ? AND seq = ?');
    for (const { lane } of db.sql.prepare('SELECT DISTINCT lane FROM messages').all()) this.#open(String(lane), true);
    this.#lastSeq = Number(db.sql.prepare('SELECT max(seq) AS seq FROM messages').get()?.seq ?? 0);
  }

  /** Those that were not sent before. */
  fresh(messages: Outgoing[]): Outgoing[] {
    return messages.filter(({ lane, dedup }) => this.#isNew(`${nameOf(lane)}#${dedup}`));
  }

  /** Whoever waits is woken at once: what he writes comes behind this in the journal, and is answered after it. */
  send(messages: Outgoing[]): void {
    for (const { lane, group, body } of messages) {
      const name = nameOf(lane);
      this.#lastSeq += 1;
      const message = { seq: this.#lastSeq, group, body: JSON.stringify(body) };
      this.#insert.run(name, message.seq, message.group, message.body);
      const stock = this.#stocks.get(name) ?? this.#open(name, false);
      stock.add(message);
      this.#wakeOne(name, body);
    }
  }

  receive(lanes: Lane[], { max, visibilityMs, leaves }: ReceiveOptions): Received[] {
    const now = this.#clock.now();
    const isLeft = ({ body }: Waiting): boolean => leaves?.(JSON.parse(body)) ?? false;
    const received: Received[] = [];
    for (const lane of lanes) {
      const stock = this.#stocks.get(nameOf(lane));
      stock?.giveBackLapsed(now);
      while (received.length < max) {
        const message = stock?.take(now + visibilityMs, isLeft);
        if (!message) break;
        received.push({ lane, group: message.group, body: JSON.parse(message.body), receipt: String(message.seq) });
      }
    }
    return received;
  }

  delete(messages: Received[]): void {
    for (const { lane, receipt, body } of messages) {
      const name = nameOf(lane);
      const stock = this.#stocks.get(name);
      // What stands behind it in its group is about the same.
      if (stock?.drop(Number(receipt))) this.#wakeOne(name, body);
      // Every agent and each of its instances has lanes: only those in use are held.
      if (stock?.isEmpty) this.#stocks.delete(name);
      this.#delete.run(name, Number(receipt));
    }
  }

  release(messages: Received[]): void {
    for (const { lane, receipt, body } of messages) {
      const name = nameOf(lane);
      if (this.#stocks.get(name)?.giveBack(Number(receipt))) this.#wakeOne(name, body);
    }
  }

  /** A wait that ends when something is sent to one of the lanes, or after a moment. */
  waitFor(lanes: Lane[], ms: number, { leaves, signal }: ReceiveOptions): Promise<void> {
    const until = nap(this.#clock, Math.min(ms, ROUND_MS), signal);
    const waiter: Waiter = { lanes: new Set(lanes.map(nameOf)), leaves, nap: until };
    this.#waiters.add(waiter);
    return waiter.nap.over.finally(() => this.#waiters.delete(waiter));
  }

  /** Wakes others in place of one who was woken and no longer wants anything. */
  passOn(lanes: Lane[]): void {
    for (const lane of lanes) this.#wakeOne(nameOf(lane));
  }

  #open(name: string, hasMore: boolean): LaneStock {
    const read = (after: number, limit: number): Waiting[] =>
      this.#select.all(name, after, limit).map(({ seq, grp, body }) => ({
        seq: Number(seq),
        group: String(grp),
        body: String(body),
      }));
    const stock = new LaneStock(read, hasMore);
    this.#stocks.set(name, stock);
    return stock;
  }

  /** One message is for one of those who wait, the one that has waited longest and does not leave it. */
  #wakeOne(lane: string, body?: Json): void {
    for (const waiter of this.#waiters) {
      if (!waiter.lanes.has(lane) || (body !== undefined && waiter.leaves?.(body))) continue;
      this.#waiters.delete(waiter);
      waiter.nap.end();
      return;
    }
  }

  #isNew(id: string): boolean {
    const now = this.#clock.now();
    const sentAt = this.#sent.get(id);
    if (sentAt !== undefined && now - sentAt < DEDUPLICATED_MS) return false;
    this.#sent.set(id, now);
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined && this.#sent.size > REMEMBERED) this.#sent.delete(oldest);
    return true;
  }
}

const nameOf = ({ project, kind, name, priority }: Lane): string => `${project}/${kind}/${name}/${priority}`;

/**
 * A message follows from a record, and is sent again from the record's change should a power failure take it back. A claim is
 * answered after its own write, which comes behind the message in the journal; the relay writes nothing, and waits for the disk.
 */
export const queuesOn = (db: Database, store: QueueStore, clock: Clock, care: Care): Queues => ({
  send: async (messages) => {
    const fresh = store.fresh(messages);
    if (fresh.length === 0) return;
    const send = (): void => store.send(fresh);
    await (care === 'soon' ? db.writeSoon(send) : db.writeUnsynced(send));
  },
  delete: async (messages) => {
    const remove = (): void => store.delete(messages);
    await (care === 'soon' ? db.writeSoon(remove) : db.writeUnsynced(remove));
  },
  release: async (messages) => store.release(messages),
  receive: async (lanes, options) => {
    const until = clock.now() + options.waitMs;
    while (!options.signal?.aborted) {
      const left = until - clock.now();
      // Looking and beginning to wait are one step, so that nothing can arrive unnoticed in between.
      const received = db.readSoon(() => store.receive(lanes, options));
      if (received.length === 0 && left > 0) {
        await store.waitFor(lanes, left, options);
        continue;
      }
      if (lanes.some(({ kind }) => kind === 'relay')) await db.settled();
      return received;
    }
    store.passOn(lanes);
    return [];
  },
});
