import type { StatementSync } from 'node:sqlite';
import { ParleyError } from '../../errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Events, ParleyEvent } from '../../ports/events.ts';
import type { Database } from './database.ts';
import { Listeners } from './listeners.ts';
import type { Care } from './records.ts';

/** How many events one read looks at, whatever its filter lets through. */
const LOOKED_AT = 1000;

/** The next event to read: which batch, and how far in it. */
interface Place {
  seq: number;
  index: number;
}

/** Events are kept in the batches in which they were published. */
export class EventStore {
  readonly listeners: Listeners;
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #last: StatementSync;
  readonly #deleteExpired: StatementSync;

  constructor(db: Database, clock: Clock, keepMs: number) {
    this.#db = db;
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.listeners = new Listeners(clock);
    // After a power failure the newest events come again, perhaps in other batches: no place given out may mean another.
    db.sql.exec(`UPDATE sqlite_sequence SET seq = seq + 1000000 WHERE name = 'events'`);
    this.#insert = db.sql.prepare('INSERT INTO events (project, expires, batch) VALUES (?, ?, ?)');
    this.#select = db.sql.prepare('SELECT seq, batch FROM events WHERE project = ? AND seq >= ? ORDER BY seq');
    this.#last = db.sql.prepare('SELECT max(seq) AS seq FROM events WHERE project = ?');
    // The oldest come first, so that those whose time is over stand together at the front.
    this.#deleteExpired = db.sql.prepare(
      'DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?) AND expires <= ?',
    );
  }

  publish(events: ParleyEvent[]): void {
    const expires = this.#clock.now() + this.#keepMs;
    for (const [project, batch] of Map.groupBy(events, (event) => event.project)) {
      this.#insert.run(project, expires, JSON.stringify(batch));
      this.#db.afterCommit(() => this.listeners.ring(project));
    }
  }

  read(project: string, from: Place, types: string[] | undefined, limit: number) {
    const events: ParleyEvent[] = [];
    let next = from;
    let looked = 0;
    for (const { seq, batch } of this.#select.iterate(project, from.seq)) {
      const all: ParleyEvent[] = JSON.parse(String(batch));
      const start = Number(seq) === from.seq ? from.index : 0;
      for (let index = start; index < all.length; index++) {
        const event = all[index];
        if (event && (!types || types.includes(event.type))) events.push(event);
        next = index + 1 < all.length ? { seq: Number(seq), index: index + 1 } : { seq: Number(seq) + 1, index: 0 };
        looked += 1;
        if (events.length === limit || looked === LOOKED_AT) return { events, next };
      }
    }
    return { events, next };
  }

  end(project: string): Place {
    return { seq: Number(this.#last.get(project)?.seq ?? 0) + 1, index: 0 };
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
  read: (project, { after, types, limit }) =>
    db.read(() => {
      const { events, next } = store.read(project, placeOf(after), types, limit);
      return { events, cursor: cursorOf(next) };
    }),
  end: (project) => db.read(() => cursorOf(store.end(project))),
  more: async (project, cursor, ms, signal) => {
    const listener = store.listeners.listen(project);
    try {
      if (store.end(project).seq <= placeOf(cursor).seq) await listener.heard(ms, signal);
    } finally {
      listener.close();
    }
  },
});

const cursorOf = ({ seq, index }: Place): string => `${seq}.${index}`;

const placeOf = (cursor: string | undefined): Place => {
  if (cursor === undefined) return { seq: 0, index: 0 };
  const [, seq, index] = /^(\d{1,15})\.(\d{1,6})$/.exec(cursor) ?? [];
  if (seq !== undefined) return { seq: Number(seq), index: Number(index) };
  throw new ParleyError('invalid_request', 'The cursor is not one that the event log gave.');
};
