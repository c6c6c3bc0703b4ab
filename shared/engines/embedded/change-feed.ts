import type { StatementSync } from 'node:sqlite';
import type { Log } from '../../log.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { Followers } from '../../ports/followers.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { Database } from './database.ts';

interface Pending {
  seq: number;
  change: RecordChange;
}

const BATCH = 128;
/** What waits in memory as well as in the file; beyond this it is read from the file. */
const REMEMBERED = 4096;
/** A change that fails so often is a bug, not bad luck: it is put aside, so that it cannot block the others. */
const MAX_TRIES = 8;

/** Hands every change of a watched record to the follower, in order, until it has been acknowledged; also after a crash. */
export class ChangeFeed {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #watched: ReadonlySet<string>;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #delete: StatementSync;
  readonly #park: StatementSync;
  #lastSeq: number;
  /** Acknowledged up to here. */
  #doneSeq: number;
  /** The newest changes, without a gap up to `#lastSeq`. */
  #recent: Pending[] = [];
  #pumping: Promise<void> | undefined;
  #follow: Followers['changes'] | undefined;
  #stop = new AbortController();

  constructor(db: Database, clock: Clock, log: Log, watched: Iterable<string>) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#watched = new Set(watched);
    this.#insert = db.sql.prepare('INSERT INTO changes (seq, before, after) VALUES (?, ?, ?)');
    this.#select = db.sql.prepare('SELECT seq, before, after FROM changes WHERE seq > ? ORDER BY seq LIMIT ?');
    this.#delete = db.sql.prepare('DELETE FROM changes WHERE seq <= ?');
    this.#park = db.sql.prepare('INSERT INTO parked_changes (seq, change, error) VALUES (NULL, ?, ?)');
    const bounds = db.sql.prepare('SELECT min(seq) AS first, max(seq) AS last FROM changes').get();
    this.#doneSeq = Number(bounds?.first ?? 1) - 1;
    this.#lastSeq = Number(bounds?.last ?? 0);
  }

  /** In the transaction of the write itself, with both sides as the texts that they have in the file. */
  append(change: RecordChange, before: string | null, after: string | null): void {
    const item = change.after ?? change.before;
    if (!item || !this.#watched.has(item.sk)) return;
    this.#lastSeq += 1;
    const pending = { seq: this.#lastSeq, change };
    this.#insert.run(pending.seq, before, after);
    this.#recent.push(pending);
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
    this.#db.afterCommit(() => this.#wake());
  }

  start(follow: Followers['changes']): void {
    this.#follow = follow;
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#follow = undefined;
    this.#stop.abort();
    await this.#pumping;
  }

  #wake(): void {
    if (!this.#follow || this.#pumping) return;
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = undefined;
      if (this.#doneSeq < this.#lastSeq) this.#wake();
    });
  }

  async #pump(): Promise<void> {
    for (let batch = this.#next(); batch.length > 0; batch = this.#next()) {
      const follow = this.#follow;
      if (!follow) return;
      await this.#deliver(follow, batch);
      const done = batch.at(-1)?.seq ?? this.#doneSeq;
      await this.#db.writeDerived(() => this.#delete.run(done));
      this.#doneSeq = done;
    }
  }

  #next(): Pending[] {
    const first = this.#recent[0];
    if (first && first.seq <= this.#doneSeq + 1) {
      return this.#recent.splice(0, BATCH).filter(({ seq }) => seq > this.#doneSeq);
    }
    const rows = this.#select.all(this.#doneSeq, BATCH);
    return rows.map(({ seq, before, after }) => ({
      seq: Number(seq),
      change: { before: parsed(before), after: parsed(after) },
    }));
  }

  async #deliver(follow: Followers['changes'], batch: Pending[]): Promise<void> {
    const changes = batch.map(({ change }) => change);
    try {
      await follow(changes);
    } catch (error) {
      if (this.#stop.signal.aborted) throw error;
      this.#log('warn', 'a batch of changes failed; each is tried by itself', {
        changes: batch.length,
        error: String(error),
      });
      for (const change of changes) await this.#deliverAlone(follow, change);
    }
  }

  async #deliverAlone(follow: Followers['changes'], change: RecordChange): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await follow([change]);
      } catch (error) {
        if (this.#stop.signal.aborted) throw error;
        if (tries === MAX_TRIES) {
          const { pk, sk, v } = change.after ?? change.before ?? {};
          this.#log('error', 'a change was put aside after many tries', { pk, sk, v, error: String(error) });
          await this.#db.writeDerived(() => this.#park.run(JSON.stringify(change), String(error)));
          return;
        }
        await nap(this.#clock, 10 * 2 ** tries, this.#stop.signal).over;
      }
    }
  }
}

const parsed = (text: unknown) => (text === null ? undefined : JSON.parse(String(text)));
