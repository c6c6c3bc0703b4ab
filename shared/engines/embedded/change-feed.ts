import type { Log } from '../../log.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { Followers } from '../../ports/followers.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { Database } from './database.ts';
import type { Rows } from './rows.ts';
import type { Writer } from './sqlite-file.ts';
import { restored, stored } from './stored-change.ts';

/** Changes of one group that are handed over together. */
interface Batch {
  changes: RecordChange[];
  /** Under which it is kept; it has none before its group is in the journal. */
  seq?: number;
  isDone?: true;
}

/** How many changes are handed over together, give or take a group. */
const TOGETHER = 128;
/** So many changes may wait before whoever writes waits as well: some 40 MB where each is of 10 KB. */
const FULL = 4096;
/** A change that fails so often is a bug, not bad luck: it is put aside, so that it cannot block the others. */
const MAX_TRIES = 8;

/**
 * Hands every change of a watched record to the follower, in order, until it has been acknowledged; also after a crash. It does
 * so at once, while the group is still open: what follows from a change is then written with it, and only what has not
 * been carried out by then is kept.
 */
export class ChangeFeed {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #watched: ReadonlySet<string>;
  readonly #insert: Writer;
  readonly #delete: Writer;
  readonly #park: Writer;
  readonly #unpark: Writer;
  #lastSeq: number;
  /** What waits to be handed over. */
  readonly #waiting: Batch[];
  /** How many changes these are. */
  #count: number;
  #room: PromiseWithResolvers<void> | undefined;
  /** What the open group has brought. */
  #uncommitted: Batch[] = [];
  /** The last of these, until it is handed over. */
  #gathering: Batch | undefined;
  #pumping: Promise<void> | undefined;
  #retrying: Promise<void> | undefined;
  #follow: Followers['changes'] | undefined;
  #stop = new AbortController();

  constructor(db: Database, rows: Rows, clock: Clock, log: Log, watched: Iterable<string>) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#watched = new Set(watched);
    this.#insert = db.writer('INSERT INTO changes (seq, batch) VALUES (?, ?)');
    this.#delete = db.writer('DELETE FROM changes WHERE seq <= ?');
    this.#park = db.writer('INSERT INTO parked_changes (change, error) VALUES (?, ?)');
    this.#unpark = db.writer('DELETE FROM parked_changes WHERE seq = ?');
    const left = db.sql.prepare('SELECT seq, batch FROM changes ORDER BY seq').all();
    this.#lastSeq = Number(left.at(-1)?.seq ?? 0);
    const changes = restored(
      left.flatMap(({ batch }) => JSON.parse(String(batch))),
      (change) => rows.find(change)?.item,
    );
    this.#waiting = changes.length > 0 ? [{ seq: this.#lastSeq, changes }] : [];
    this.#count = changes.length;
  }

  /**
   * Where too much waits: resolves when that is no longer so. It is for requests; whatever follows from a change never waits for
   * it, or nobody would ever make room.
   */
  room(): Promise<void> | undefined {
    if (!this.#follow || this.#count < FULL) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  /** In the group of the write itself. */
  append(change: RecordChange): void {
    const item = change.after ?? change.before;
    if (!item || !this.#watched.has(item.sk)) return;
    this.#gathering ??= this.#begin();
    this.#gathering.changes.push(change);
    this.#count += 1;
  }

  /** What one turn of the event loop brings goes together. */
  #begin(): Batch {
    const batch: Batch = { changes: [] };
    if (this.#uncommitted.length === 0) this.#db.beforeCommit(() => this.#store());
    this.#uncommitted.push(batch);
    this.#waiting.push(batch);
    setImmediate(() => this.#wake());
    return batch;
  }

  #store(): void {
    for (const batch of this.#uncommitted) {
      if (batch.isDone) continue;
      this.#lastSeq += 1;
      batch.seq = this.#lastSeq;
      this.#insert.run(batch.seq, JSON.stringify(batch.changes.map(stored)));
    }
    this.#uncommitted = [];
    this.#gathering = undefined;
  }

  start(follow: Followers['changes']): void {
    this.#follow = follow;
    this.#retrying = this.#retryParked(follow);
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#end();
    this.#stop.abort();
    await Promise.all([this.#pumping, this.#retrying]);
  }

  #end(): void {
    this.#follow = undefined;
    this.#makeRoom();
  }

  /** What was put aside is tried once after each start: the bug may be gone, and every effect is safe to be late. */
  async #retryParked(follow: Followers['changes']): Promise<void> {
    for (const { seq, change } of this.#db.sql.prepare('SELECT seq, change FROM parked_changes').all()) {
      try {
        await follow([JSON.parse(String(change))]);
        this.#db.writeSoon(() => this.#unpark.run(seq ?? null));
      } catch (error) {
        this.#log('warn', 'a change that was put aside failed again', { seq, error: String(error) });
      }
    }
  }

  #wake(): void {
    if (!this.#follow || this.#pumping) return;
    this.#pumping = this.#pump().then(
      () => {
        this.#pumping = undefined;
        if (this.#waiting.length > 0) this.#wake();
      },
      // It fails only where everything stops or the storage has failed: what is left comes again after the next start.
      (error) => {
        this.#pumping = undefined;
        this.#end();
        if (!this.#stop.signal.aborted)
          this.#log('error', 'the changes are no longer followed', { error: String(error) });
      },
    );
  }

  async #pump(): Promise<void> {
    while (this.#follow && this.#waiting.length > 0) {
      const batches = this.#next();
      await this.#deliver(
        this.#follow,
        batches.flatMap(({ changes }) => changes),
      );
      this.#acknowledge(batches);
    }
  }

  /** Some of what waits. */
  #next(): Batch[] {
    this.#gathering = undefined;
    const together: Batch[] = [];
    for (let changes = 0; changes < TOGETHER; ) {
      const batch = this.#waiting.shift();
      if (!batch) break;
      together.push(batch);
      changes += batch.changes.length;
      this.#count -= batch.changes.length;
    }
    if (this.#count < FULL) this.#makeRoom();
    return together;
  }

  #acknowledge(batches: Batch[]): void {
    for (const batch of batches) batch.isDone = true;
    const { seq } = batches.findLast((batch) => batch.seq !== undefined) ?? {};
    if (seq !== undefined) this.#db.writeSoon(() => this.#delete.run(seq));
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
          this.#db.writeSoon(() => this.#park.run(JSON.stringify(change), String(error)));
          return;
        }
        await nap(this.#clock, 10 * 2 ** tries, this.#stop.signal).over;
      }
    }
  }
}
