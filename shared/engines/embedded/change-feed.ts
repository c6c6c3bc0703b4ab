import type { StatementSync } from 'node:sqlite';
import type { Log } from '../../log.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { Followers } from '../../ports/followers.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { Database } from './database.ts';

/** The changes of one transaction. */
interface Batch {
  seq: number;
  changes: RecordChange[];
}

/** Batches that wait in memory as well as in the file; beyond this they are read from the file. */
const REMEMBERED = 1024;
/** How many changes are handed over together, give or take a transaction. */
const TOGETHER = 128;
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
  /** The newest batches, without a gap up to `#lastSeq`. */
  #recent: Batch[] = [];
  /** Of the open transaction, with the text of each. */
  #open: { changes: RecordChange[]; texts: string[] } | undefined;
  #pumping: Promise<void> | undefined;
  #follow: Followers['changes'] | undefined;
  #stop = new AbortController();

  constructor(db: Database, clock: Clock, log: Log, watched: Iterable<string>) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#watched = new Set(watched);
    this.#insert = db.sql.prepare('INSERT INTO changes (seq, batch) VALUES (?, ?)');
    this.#select = db.sql.prepare('SELECT seq, batch FROM changes WHERE seq > ? ORDER BY seq LIMIT 1');
    this.#delete = db.sql.prepare('DELETE FROM changes WHERE seq <= ?');
    this.#park = db.sql.prepare('INSERT INTO parked_changes (seq, change, error) VALUES (NULL, ?, ?)');
    this.#takeUpParked();
    const bounds = db.sql.prepare('SELECT min(seq) AS first, max(seq) AS last FROM changes').get();
    this.#doneSeq = Number(bounds?.first ?? 1) - 1;
    this.#lastSeq = Number(bounds?.last ?? 0);
  }

  /** In the transaction of the write itself, with both sides as the texts that they have in the file. */
  append(change: RecordChange, before: string | undefined, after: string | undefined): void {
    const item = change.after ?? change.before;
    if (!item || !this.#watched.has(item.sk)) return;
    if (!this.#open) {
      this.#open = { changes: [], texts: [] };
      this.#db.beforeCommit(() => this.#store());
    }
    this.#open.changes.push(change);
    this.#open.texts.push(`{${[before && `"before":${before}`, after && `"after":${after}`].filter(Boolean).join()}}`);
  }

  #store(): void {
    const { changes, texts } = this.#open ?? { changes: [], texts: [] };
    this.#open = undefined;
    this.#lastSeq += 1;
    this.#insert.run(this.#lastSeq, `[${texts.join()}]`);
    this.#recent.push({ seq: this.#lastSeq, changes });
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
    this.#db.afterCommit(() => this.#wake());
  }

  /** What was put aside comes once more after each start: the bug may be gone, and every effect is safe to be late. */
  #takeUpParked(): void {
    this.#db.sql.exec(
      `BEGIN;
       INSERT INTO changes (batch) SELECT '[' || change || ']' FROM parked_changes ORDER BY seq;
       DELETE FROM parked_changes;
       COMMIT`,
    );
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
    this.#pumping = this.#pump().then(
      () => {
        this.#pumping = undefined;
        if (this.#doneSeq < this.#lastSeq) this.#wake();
      },
      // It fails only where everything stops or the storage has failed: what is left comes again after the next start.
      () => {
        this.#pumping = undefined;
      },
    );
  }

  async #pump(): Promise<void> {
    for (let batch = this.#next(); batch; batch = this.#next()) {
      const follow = this.#follow;
      if (!follow) return;
      const { seq, changes } = batch;
      await this.#deliver(follow, changes);
      await this.#db.writeDerived(() => this.#delete.run(seq));
      this.#doneSeq = seq;
    }
  }

  /** What comes next, as one batch. */
  #next(): Batch | undefined {
    const together: Batch = { seq: this.#doneSeq, changes: [] };
    while (together.changes.length < TOGETHER) {
      const batch = this.#after(together.seq);
      if (!batch) break;
      together.seq = batch.seq;
      together.changes.push(...batch.changes);
    }
    return together.changes.length > 0 ? together : undefined;
  }

  #after(seq: number): Batch | undefined {
    while (this.#recent[0] && this.#recent[0].seq <= seq) this.#recent.shift();
    const first = this.#recent[0];
    if (first?.seq === seq + 1) return first;
    if (seq >= this.#lastSeq) return undefined;
    const row = this.#select.get(seq);
    return row && { seq: Number(row.seq), changes: JSON.parse(String(row.batch)) };
  }

  async #deliver(follow: Followers['changes'], changes: RecordChange[]): Promise<void> {
    try {
      await follow(changes);
    } catch (error) {
      if (this.#stop.signal.aborted) throw error;
      this.#log('warn', 'a batch of changes failed; each is tried by itself', {
        changes: changes.length,
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
