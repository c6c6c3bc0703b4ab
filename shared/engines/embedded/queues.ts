import type { StatementSync } from 'node:sqlite';
import { type Clock, type Nap, nap } from '../../ports/clock.ts';
import type { Lane, Outgoing, Queues, Received, ReceiveOptions } from '../../ports/queues.ts';
import type { Database } from './database.ts';

/** Received and not yet deleted. A crash forgets it, and the message is there again. */
interface InFlight {
  lane: string;
  group: string;
  until: number;
}

interface Waiter {
  lanes: ReadonlySet<string>;
  nap: Nap;
}

/** As many deduplication ids as are remembered: what follows a fast path within milliseconds needs far fewer. */
const REMEMBERED = 20_000;
/** A receive that found nothing looks again this often, should it ever not be woken. */
const ROUND_MS = 1000;

export class QueueStore {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  readonly #inFlight = new Map<number, InFlight>();
  readonly #sent = new Set<string>();
  /** Lanes in which something may wait; all others are known to be empty. */
  readonly #stocked: Set<string>;
  readonly #waiters = new Set<Waiter>();
  #lastSeq: number;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    this.#insert = db.sql.prepare('INSERT INTO messages (lane, seq, grp, body) VALUES (?, ?, ?, ?)');
    this.#select = db.sql.prepare('SELECT seq, grp, body FROM messages WHERE lane = ? ORDER BY seq LIMIT ? OFFSET ?');
    this.#delete = db.sql.prepare('DELETE FROM messages WHERE lane = ? AND seq = ?');
    const lanes = db.sql.prepare('SELECT DISTINCT lane FROM messages').all();
    this.#stocked = new Set(lanes.map(({ lane }) => String(lane)));
    this.#lastSeq = Number(db.sql.prepare('SELECT max(seq) AS seq FROM messages').get()?.seq ?? 0);
  }

  send(messages: Outgoing[]): void {
    for (const { lane, group, dedup, body } of messages) {
      const name = nameOf(lane);
      if (!this.#isNew(`${name}#${dedup}`)) continue;
      this.#lastSeq += 1;
      this.#insert.run(name, this.#lastSeq, group, JSON.stringify(body));
      this.#stocked.add(name);
      this.#db.afterCommit(() => this.#wakeOne(name));
    }
  }

  receive(lanes: Lane[], { max, visibilityMs }: ReceiveOptions): Received[] {
    this.#forgetLapsed();
    const received: Received[] = [];
    for (const lane of lanes) {
      if (received.length === max) break;
      received.push(...this.#receiveFrom(lane, max - received.length, visibilityMs));
    }
    return received;
  }

  delete(messages: Received[]): void {
    for (const { lane, receipt } of messages) {
      this.#delete.run(nameOf(lane), Number(receipt));
      this.#free(Number(receipt));
    }
  }

  release(messages: Received[]): void {
    for (const { receipt } of messages) this.#free(Number(receipt));
  }

  /** A wait that ends when something is sent to one of the lanes, or after a moment. */
  waitFor(lanes: Lane[], ms: number, signal?: AbortSignal): Promise<void> {
    const waiter = { lanes: new Set(lanes.map(nameOf)), nap: nap(this.#clock, Math.min(ms, ROUND_MS), signal) };
    this.#waiters.add(waiter);
    return waiter.nap.over.finally(() => this.#waiters.delete(waiter));
  }

  /** Wakes others in place of one who was woken and no longer wants anything. */
  passOn(lanes: Lane[]): void {
    for (const lane of lanes) this.#wakeOne(nameOf(lane));
  }

  #receiveFrom(lane: Lane, max: number, visibilityMs: number): Received[] {
    const name = nameOf(lane);
    if (!this.#stocked.has(name)) return [];
    const hidden = [...this.#inFlight.values()].filter((message) => message.lane === name);
    const blocked = new Set(hidden.map(({ group }) => group));
    const received: Received[] = [];
    const page = max + hidden.length;
    for (let offset = 0; received.length < max; offset += page) {
      const rows = this.#select.all(name, page, offset);
      for (const { seq, grp, body } of rows) {
        const group = String(grp);
        if (received.length === max || blocked.has(group)) continue;
        blocked.add(group);
        this.#inFlight.set(Number(seq), { lane: name, group, until: this.#clock.now() + visibilityMs });
        received.push({ lane, group, body: JSON.parse(String(body)), receipt: String(seq) });
      }
      if (rows.length < page) {
        if (offset === 0 && rows.length === 0) this.#stocked.delete(name);
        break;
      }
    }
    return received;
  }

  #forgetLapsed(): void {
    const now = this.#clock.now();
    for (const [seq, { until }] of this.#inFlight) {
      if (until <= now) this.#inFlight.delete(seq);
    }
  }

  #free(seq: number): void {
    const message = this.#inFlight.get(seq);
    if (!message) return;
    this.#inFlight.delete(seq);
    this.#db.afterCommit(() => this.#wakeOne(message.lane));
  }

  /** One message is for one of those who wait, the one that has waited longest. */
  #wakeOne(lane: string): void {
    for (const waiter of this.#waiters) {
      if (!waiter.lanes.has(lane)) continue;
      this.#waiters.delete(waiter);
      waiter.nap.end();
      return;
    }
  }

  #isNew(id: string): boolean {
    if (this.#sent.has(id)) return false;
    this.#sent.add(id);
    const [oldest] = this.#sent;
    if (oldest !== undefined && this.#sent.size > REMEMBERED) this.#sent.delete(oldest);
    return true;
  }
}

const nameOf = ({ project, kind, name, priority }: Lane): string => `${project}/${kind}/${name}/${priority}`;

export const queuesOn = (db: Database, store: QueueStore, clock: Clock): Queues => ({
  // A message follows from a record, and is sent again from the record's change should a power failure take it back.
  send: (messages) => db.writeDerived(() => store.send(messages)),
  delete: (messages) => db.writeDerived(() => store.delete(messages)),
  release: async (messages) => store.release(messages),
  receive: async (lanes, options) => {
    const until = clock.now() + options.waitMs;
    while (!options.signal?.aborted) {
      const left = until - clock.now();
      // Looking and beginning to wait are one step, so that nothing can arrive unnoticed in between.
      const { received, arrival } = await db.read(() => {
        const found = store.receive(lanes, options);
        const isOver = found.length > 0 || left <= 0;
        return { received: found, arrival: isOver ? undefined : { wait: store.waitFor(lanes, left, options.signal) } };
      });
      if (!arrival) return received;
      await arrival.wait;
    }
    store.passOn(lanes);
    return [];
  },
});
