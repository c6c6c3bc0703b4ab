import type { StatementSync } from 'node:sqlite';
import { ParleyError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Events, ParleyEvent } from '../../ports/events.ts';
import type { Database } from './database.ts';
import { Listeners } from './listeners.ts';

/** How many events one read looks at, whatever its filter lets through. */
const LOOKED_AT = 1000;

export class EventStore {
  readonly listeners: Listeners;
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #last: StatementSync;
  readonly #deleteExpired: StatementSync;
  #lastSeq: number;

  constructor(db: Database, clock: Clock, keepMs: number) {
    this.#db = db;
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.listeners = new Listeners(clock);
    this.#insert = db.sql.prepare('INSERT INTO events (seq, project, type, expires, body) VALUES (?, ?, ?, ?, ?)');
    this.#select = db.sql.prepare(
      'SELECT seq, type, body FROM events WHERE project = ? AND seq > ? ORDER BY seq LIMIT ?',
    );
    this.#last = db.sql.prepare('SELECT max(seq) AS seq FROM events WHERE project = ?');
    // The oldest come first, so that those whose time is over stand together at the front.
    this.#deleteExpired = db.sql.prepare(
      'DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?) AND expires <= ?',
    );
    this.#lastSeq = Number(db.sql.prepare('SELECT max(seq) AS seq FROM events').get()?.seq ?? 0);
  }

  publish(events: ParleyEvent[]): void {
    const expires = this.#clock.now() + this.#keepMs;
    for (const event of events) {
      this.#lastSeq += 1;
      this.#insert.run(this.#lastSeq, event.project, event.type, expires, JSON.stringify(event));
    }
    this.#db.afterCommit(() => {
      for (const project of new Set(events.map((event) => event.project))) this.listeners.ring(project);
    });
  }

  read(project: string, after: number, types: string[] | undefined, limit: number) {
    const events: ParleyEvent[] = [];
    let cursor = after;
    for (const { seq, type, body } of this.#select.iterate(project, after, LOOKED_AT)) {
      if (events.length === limit) break;
      cursor = Number(seq);
      if (!types || types.includes(String(type))) events.push(JSON.parse(String(body)));
    }
    return { events, cursor: String(cursor) };
  }

  last(project: string): number {
    return Number(this.#last.get(project)?.seq ?? 0);
  }

  removeExpired(limit: number): number {
    return Number(this.#deleteExpired.run(limit, this.#clock.now()).changes);
  }
}

export const eventsOn = (db: Database, store: EventStore): Events => ({
  publish: (events) => db.writeDerived(() => store.publish(events)),
  read: (project, { after, types, limit }) => db.read(() => store.read(project, seqOf(after), types, limit)),
  end: (project) => db.read(() => String(store.last(project))),
  more: async (project, cursor, ms, signal) => {
    const listener = store.listeners.listen(project);
    try {
      if (store.last(project) <= seqOf(cursor)) await listener.heard(ms, signal);
    } finally {
      listener.close();
    }
  },
});

const seqOf = (cursor: string | undefined): number => {
  if (cursor === undefined) return 0;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ParleyError('invalid_request', 'The cursor is not one that the event log gave.');
};
