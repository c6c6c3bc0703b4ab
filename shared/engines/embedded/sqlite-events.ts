import type { StatementSync } from 'node:sqlite';
import { ParleyError } from '../../kernel/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import {
  type EventReadOptions,
  type EventSubject,
  type Events,
  isWantedEvent,
  listWantedSubjects,
  type ParleyEvent,
} from '../../ports/events.ts';
import {
  assertNotAheadOfLog,
  findFirstSeqAt,
  formatCursor,
  isPastPosition,
  type LogPosition,
  OLDEST_POSITION,
  type PublishedBatch,
  parseCursor,
} from '../log-position.ts';
import type { Database } from './database.ts';
import { EventIndex, getFirstSeq, toBlock } from './event-index.ts';
import type { RecordedStatement } from './sqlite-file.ts';
import type { Durability } from './sqlite-records.ts';
import { Watchers } from './watchers.ts';

const MAX_SCANNED = 1000;

interface EventStep {
  /** Absent where the reader goes on without one. */
  event?: ParleyEvent;
  next: LogPosition;
}

export class EventStore {
  readonly watchers: Watchers;
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #retentionMs: number;
  readonly #index: EventIndex;
  readonly #insert: RecordedStatement;
  readonly #forwards: StatementSync;
  readonly #backwards: StatementSync;
  readonly #last: StatementSync;
  readonly #highest: StatementSync;
  readonly #oldest: StatementSync;
  readonly #first: StatementSync;
  readonly #deleteExpired: RecordedStatement;
  readonly #skipSequence: RecordedStatement;
  #hasSkipped = false;

  constructor(db: Database, clock: Clock, retentionMs: number) {
    this.#db = db;
    this.#clock = clock;
    this.#retentionMs = retentionMs;
    this.#index = new EventIndex(db);
    this.watchers = new Watchers(clock);
    this.#skipSequence = db.prepareWrite(`UPDATE sqlite_sequence SET seq = seq + 1000000 WHERE name = 'events'`);
    this.#insert = db.prepareWrite('INSERT INTO events (project, at, expires, batch) VALUES (?, ?, ?, ?)');
    const select = 'SELECT seq, batch FROM events WHERE project = ? AND seq';
    this.#forwards = db.sql.prepare(`${select} BETWEEN ? AND ? ORDER BY seq`);
    this.#backwards = db.sql.prepare(`${select} BETWEEN ? AND ? ORDER BY seq DESC`);
    this.#last = db.sql.prepare('SELECT max(seq) AS seq FROM events WHERE project = ?');
    // Over all projects, deleted events included.
    this.#highest = db.sql.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`);
    this.#oldest = db.sql.prepare('SELECT seq FROM events ORDER BY seq LIMIT 1');
    this.#first = db.sql.prepare('SELECT seq, at FROM events WHERE project = ? AND seq >= ? ORDER BY seq LIMIT 1');
    this.#deleteExpired = db.prepareWrite(
      'DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq LIMIT ?) AND expires <= ?',
    );
    try {
      db.writeSync(() => this.#skipSequenceOnce());
    } catch (error) {
      // On a full disk, the first publish that succeeds does it.
      if (!(error instanceof ParleyError && error.code === 'storage_full')) throw error;
    }
  }

  /** After a power failure, events are published again in other batches: old cursors must not point at them. */
  #skipSequenceOnce(): void {
    if (this.#hasSkipped) return;
    this.#skipSequence.run();
    this.#hasSkipped = true;
  }

  publish(events: ParleyEvent[]): void {
    this.#skipSequenceOnce();
    const now = this.#clock.now();
    for (const [project, batch] of Map.groupBy(events, (event) => event.project)) {
      const { lastInsertRowid } = this.#insert.run(project, now, now + this.#retentionMs, JSON.stringify(batch));
      this.#index.add({ seq: Number(lastInsertRowid), project, events: batch });
      this.#db.onAfterCommit(() => this.watchers.notify(project));
    }
  }

  read(project: string, options: EventReadOptions): { events: ParleyEvent[]; next: LogPosition } {
    const { after, until, newestFirst = false, limit } = options;
    const from = after === undefined ? (newestFirst ? this.getEnd(project) : OLDEST_POSITION) : parseCursor(after);
    const last = until === undefined ? undefined : parseCursor(until);
    const events: ParleyEvent[] = [];
    let next = from;
    let looked = 0;
    for (const step of this.#iterate(project, from, options)) {
      if (isPastPosition(step.next, last, newestFirst)) break;
      if (step.event && isWantedEvent(options, step.event)) events.push(step.event);
      next = step.next;
      looked += 1;
      if (events.length === limit || looked === MAX_SCANNED) break;
    }
    if (looked === 0 && !newestFirst) assertNotAheadOfLog(from, Number(this.#highest.get()?.seq ?? 0) + 1);
    return { events, next };
  }

  #iterate(project: string, from: LogPosition, { subject, newestFirst }: EventReadOptions): Generator<EventStep> {
    if (subject && listWantedSubjects(subject).length > 0)
      return this.#iterateSubject(project, from, subject, newestFirst ?? false);
    return newestFirst ? this.#iterateBackwards(project, from) : this.#iterateForwards(project, from);
  }

  /** The blocks in which it is. Where there are no more, the rest of the log is behind the reader. */
  *#iterateSubject(
    project: string,
    from: LogPosition,
    subject: EventSubject,
    newestFirst: boolean,
  ): Generator<EventStep> {
    this.#index.flush();
    for (let block = toBlock(from.seq); ; ) {
      const found = this.#index.find(project, subject, block, newestFirst);
      if (!found) break;
      block = found.block;
      const [first, last] = [getFirstSeq(block), getFirstSeq(block + 1) - 1];
      if (!found.mayMatch) return yield { next: { seq: newestFirst ? last + 1 : first, index: 0 } };
      yield* newestFirst
        ? this.#iterateBackwards(project, from.seq > last ? { seq: last + 1, index: 0 } : from, first)
        : this.#iterateForwards(project, from.seq < first ? { seq: first, index: 0 } : from, last);
      block += newestFirst ? -1 : 1;
    }
    const end = this.getEnd(project);
    if (newestFirst) yield { next: OLDEST_POSITION };
    else if (isPastPosition(end, from)) yield { next: end };
  }

  *#iterateForwards(project: string, from: LogPosition, last = Number.MAX_SAFE_INTEGER): Generator<EventStep> {
    for (const row of this.#forwards.iterate(project, from.seq, last)) {
      const { seq, batch } = decodeBatchRow(row);
      const rest = seq === from.seq ? batch.slice(from.index) : batch;
      for (const [at, event] of rest.entries()) {
        const index = batch.length - rest.length + at + 1;
        yield { event, next: index < batch.length ? { seq, index } : { seq: seq + 1, index: 0 } };
      }
    }
  }

  *#iterateBackwards(project: string, from: LogPosition, first = 0): Generator<EventStep> {
    for (const row of this.#backwards.iterate(project, first, from.seq)) {
      const { seq, batch } = decodeBatchRow(row);
      const rest = seq === from.seq ? batch.slice(0, from.index) : batch;
      for (const [at, event] of rest.toReversed().entries()) {
        yield { event, next: { seq, index: rest.length - at - 1 } };
      }
    }
  }

  getEnd(project: string): LogPosition {
    return { seq: Number(this.#last.get(project)?.seq ?? 0) + 1, index: 0 };
  }

  findFirstBatchFrom(project: string, seq: number): PublishedBatch | undefined {
    const row = this.#first.get(project, seq);
    return row && { seq: Number(row.seq), at: Number(row.at) };
  }

  deleteExpired(limit: number): number {
    const { changes } = this.#deleteExpired.run(limit, this.#clock.now());
    this.#index.deleteBefore(Number(this.#oldest.get()?.seq ?? this.#highest.get()?.seq ?? 0));
    return Number(changes);
  }
}

export const createSqliteEvents = (db: Database, store: EventStore, durability: Durability): Events => ({
  publish: async (events) => {
    const publish = (): void => store.publish(events);
    await (durability === 'soon' ? db.writeAsync(publish) : db.writeUnsynced(publish));
  },
  read: (project, options) =>
    db.read(() => {
      const { events, next } = store.read(project, options);
      return { events, cursor: formatCursor(next) };
    }),
  getEnd: (project) => db.read(() => formatCursor(store.getEnd(project))),
  findPositionAt: async (project, time) => {
    const find = async (seq: number) => store.findFirstBatchFrom(project, seq);
    return formatCursor({ seq: await findFirstSeqAt(time, store.getEnd(project).seq, find), index: 0 });
  },
  waitForMore: async (project, cursor, ms, signal) => {
    const watcher = store.watchers.watch(project);
    try {
      if (store.getEnd(project).seq <= parseCursor(cursor).seq) await watcher.next(ms, signal);
    } finally {
      watcher.close();
    }
  },
});

const decodeBatchRow = ({ seq, batch }: Record<string, unknown>): { seq: number; batch: ParleyEvent[] } => ({
  seq: Number(seq),
  batch: JSON.parse(String(batch)),
});
