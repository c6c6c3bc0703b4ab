import type { StatementSync } from 'node:sqlite';
import type { Clock } from '../../ports/clock.ts';
import { type Events, isAmong, type ParleyEvent, type ReadOptions } from '../../ports/events.ts';
import {
  cursorOf,
  firstSince,
  isBeyond,
  OLDEST,
  type Place,
  type Published,
  placeOf,
  refuseAhead,
} from '../event-place.ts';
import type { Database } from './database.ts';
import { Listeners } from './listeners.ts';
import type { Care } from './records.ts';
import type { Writer } from './sqlite-file.ts';

/** How many events one read looks at, whatever its filter lets through. */
const LOOKED_AT = 1000;

/** An event, and the place where one is after it. */
interface Step {
  event: ParleyEvent;
  next: Place;
}

/** Events are kept in the batches in which they were published. */
export class EventStore {
  readonly listeners: Listeners;
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #insert: Writer;
  readonly #forwards: StatementSync;
  readonly #backwards: StatementSync;
  readonly #last: StatementSync;
  readonly #highest: StatementSync;
  readonly #first: StatementSync;
  readonly #deleteExpired: Writer;

  constructor(db: Database, clock: Clock, keepMs: number) {
    this.#db = db;
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.listeners = new Listeners(clock);
    // After a power failure the newest events come again, perhaps in other batches: no place given out may mean another.
    db.setUp(`INSERT INTO sqlite_sequence SELECT 'events', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events');
      UPDATE sqlite_sequence SET seq = seq + 1000000 WHERE name = 'events'`);
    this.#insert = db.writer('INSERT INTO events (project, at, expires, batch) VALUES (?, ?, ?, ?)');
    const select = 'SELECT seq, batch FROM events WHERE project = ? AND seq';
    this.#forwards = db.sql.prepare(`${select} >= ? ORDER BY seq`);
    this.#backwards = db.sql.prepare(`${select} <= ? ORDER BY seq DESC`);
    this.#last = db.sql.prepare('SELECT max(seq) AS seq FROM events WHERE project = ?');
    // Of any project, and of events that are gone too.
    this.#highest = db.sql.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`);
    this.#first = db.sql.prepare('SELECT seq, at FROM events WHERE project = ? AND seq >= ? ORDER BY seq LIMIT 1');
    // The oldest come first, so that those whose time is over stand together at the front.
    this.#deleteExpired = db.writer(
      'DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?) AND expires <= ?',
    );
  }

  publish(events: ParleyEvent[]): void {
    const now = this.#clock.now();
    for (const [project, batch] of Map.groupBy(events, (event) => event.project)) {
      this.#insert.run(project, now, now + this.#keepMs, JSON.stringify(batch));
      this.#db.afterCommit(() => this.listeners.ring(project));
    }
  }

  read(
    project: string,
    { after, until, types, newestFirst, limit }: ReadOptions,
  ): { events: ParleyEvent[]; next: Place } {
    const from = after === undefined ? (newestFirst ? this.end(project) : OLDEST) : placeOf(after);
    const last = until === undefined ? undefined : placeOf(until);
    const events: ParleyEvent[] = [];
    let next = from;
    let looked = 0;
    for (const step of newestFirst ? this.#before(project, from) : this.#behind(project, from)) {
      if (isBeyond(step.next, last, newestFirst)) break;
      if (isAmong(types, step.event.type)) events.push(step.event);
      next = step.next;
      looked += 1;
      if (events.length === limit || looked === LOOKED_AT) break;
    }
    if (looked === 0 && !newestFirst) refuseAhead(from, Number(this.#highest.get()?.seq ?? 0) + 1);
    return { events, next };
  }

  *#behind(project: string, from: Place): Generator<Step> {
    for (const row of this.#forwards.iterate(project, from.seq)) {
      const { seq, batch } = batchOf(row);
      const rest = seq === from.seq ? batch.slice(from.index) : batch;
      for (const [at, event] of rest.entries()) {
        const index = batch.length - rest.length + at + 1;
        yield { event, next: index < batch.length ? { seq, index } : { seq: seq + 1, index: 0 } };
      }
    }
  }

  *#before(project: string, from: Place): Generator<Step> {
    for (const row of this.#backwards.iterate(project, from.seq)) {
      const { seq, batch } = batchOf(row);
      const rest = seq === from.seq ? batch.slice(0, from.index) : batch;
      for (const [at, event] of rest.toReversed().entries()) {
        yield { event, next: { seq, index: rest.length - at - 1 } };
      }
    }
  }

  end(project: string): Place {
    return { seq: Number(this.#last.get(project)?.seq ?? 0) + 1, index: 0 };
  }

  firstFrom(project: string, seq: number): Published | undefined {
    const row = this.#first.get(project, seq);
    return row && { seq: Number(row.seq), at: Number(row.at) };
  }

  removeExpired(limit: number): number {
    return Number(this.#deleteExpired.run(limit, this.#clock.now()).changes);
  }
}

export const eventsOn = (db: Database, store: EventStore, care: Care): Events => ({
  publish: async (events) => {
    const publish = (): void => store.publish(events);
    await (care === 'soon' ? db.writeSoon(publish) : db.writeUnsynced(publish));
  },
  read: (project, options) =>
    db.read(() => {
      const { events, next } = store.read(project, options);
      return { events, cursor: cursorOf(next) };
    }),
  end: (project) => db.read(() => cursorOf(store.end(project))),
  since: async (project, time) => {
    const find = async (seq: number) => store.firstFrom(project, seq);
    return cursorOf({ seq: await firstSince(time, store.end(project).seq, find), index: 0 });
  },
  more: async (project, cursor, ms, signal) => {
    const listener = store.listeners.listen(project);
    try {
      if (store.end(project).seq <= placeOf(cursor).seq) await listener.heard(ms, signal);
    } finally {
      listener.close();
    }
  },
});

const batchOf = ({ seq, batch }: Record<string, unknown>): { seq: number; batch: ParleyEvent[] } => ({
  seq: Number(seq),
  batch: JSON.parse(String(batch)),
});
