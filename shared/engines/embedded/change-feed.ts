import { ParleyError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import type { EngineHandlers } from '../../ports/engine-handlers.ts';
import type { RecordChange } from '../../ports/records.ts';
import { BackPressure } from './back-pressure.ts';
import type { Database } from './database.ts';
import type { RecordTable } from './record-table.ts';
import type { RecordedStatement } from './sqlite-file.ts';
import { restoreChanges, toUndoChange } from './undo-change.ts';

/** Changes of one group that are handed over together. */
interface ChangeBatch {
  changes: RecordChange[];
  /** Under which it is kept; it has none before its group is in the journal. */
  seq?: number;
  isDone?: true;
}

/** How many changes are handed over together, give or take a group. */
const MAX_BATCH_CHANGES = 128;
/** So many changes may wait before whoever writes waits as well: some 40 MB where each is of 10 KB. */
const MAX_PENDING = 4096;
/** Where the disk is full. */
const STORAGE_FULL_RETRY_MS = 1000;
/** A change that fails so often is a bug, not bad luck: it is put aside, so that it cannot block the others. */
const MAX_ATTEMPTS = 8;

/**
 * Hands every change of a watched record to the follower, in order, until it has been acknowledged; also after a crash. It does
 * so at once, while the group is still open: what follows from a change is then written with it, and only what has not
 * been carried out by then is kept.
 */
export class ChangeFeed {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #kinds: ReadonlySet<string>;
  readonly #insert: RecordedStatement;
  readonly #delete: RecordedStatement;
  readonly #park: RecordedStatement;
  readonly #unpark: RecordedStatement;
  #lastSeq: number;
  /** What waits to be handed over. */
  readonly #waiting: ChangeBatch[];
  /**
   * For requests: where too much waits to be handed over, they wait as well. Whatever follows from a change never does, or
   * nobody would ever make room.
   */
  readonly backPressure = new BackPressure(MAX_PENDING);
  /** What the open group has brought. */
  #uncommitted: ChangeBatch[] = [];
  /** The last of these, until it is handed over. */
  #gathering: ChangeBatch | undefined;
  #pumping: Promise<void> | undefined;
  #retrying: Promise<void> | undefined;
  #handler: EngineHandlers['onChanges'] | undefined;
  #stop = new AbortController();

  constructor(db: Database, rows: RecordTable, clock: Clock, log: Log, watched: Iterable<string>) {
    this.#db = db;
    this.#clock = clock;
    this.#log = log;
    this.#kinds = new Set(watched);
    this.#insert = db.prepareWrite('INSERT INTO changes (seq, batch) VALUES (?, ?)');
    this.#delete = db.prepareWrite('DELETE FROM changes WHERE seq <= ?');
    this.#park = db.prepareWrite('INSERT INTO parked_changes (change, error) VALUES (?, ?)');
    this.#unpark = db.prepareWrite('DELETE FROM parked_changes WHERE seq = ?');
    const left = db.sql.prepare('SELECT seq, batch FROM changes ORDER BY seq').all();
    this.#lastSeq = Number(left.at(-1)?.seq ?? 0);
    const changes = restoreChanges(
      left.flatMap(({ batch }) => JSON.parse(String(batch))),
      (change) => rows.find(change)?.item,
    );
    this.#waiting = changes.length > 0 ? [{ seq: this.#lastSeq, changes }] : [];
    this.backPressure.increase(changes.length);
  }

  /** In the group of the write itself. */
  append(change: RecordChange): void {
    const item = change.after ?? change.before;
    if (!item || !this.#kinds.has(item.sk)) return;
    this.#gathering ??= this.#startBatch();
    this.#gathering.changes.push(change);
    this.backPressure.increase(1);
  }

  /** What one turn of the event loop brings goes together. */
  #startBatch(): ChangeBatch {
    const batch: ChangeBatch = { changes: [] };
    if (this.#uncommitted.length === 0) this.#db.onBeforeCommit(() => this.#storeUncommitted());
    this.#uncommitted.push(batch);
    this.#waiting.push(batch);
    setImmediate(() => this.#startPump());
    return batch;
  }

  #storeUncommitted(): void {
    for (const batch of this.#uncommitted) {
      if (batch.isDone) continue;
      this.#lastSeq += 1;
      batch.seq = this.#lastSeq;
      this.#insert.run(batch.seq, JSON.stringify(batch.changes.map(toUndoChange)));
    }
    this.#uncommitted = [];
    this.#gathering = undefined;
  }

  start(follow: EngineHandlers['onChanges']): void {
    this.#handler = follow;
    this.backPressure.enable();
    this.#retrying = this.#retryParked(follow);
    this.#startPump();
  }

  async stop(): Promise<void> {
    this.#stopDelivering();
    this.#stop.abort();
    await Promise.all([this.#pumping, this.#retrying]);
  }

  #stopDelivering(): void {
    this.#handler = undefined;
    this.backPressure.disable();
  }

  /** What was put aside is tried once after each start: the bug may be gone, and every effect is safe to be late. */
  async #retryParked(follow: EngineHandlers['onChanges']): Promise<void> {
    for (const { seq, change } of this.#db.sql.prepare('SELECT seq, change FROM parked_changes').all()) {
      try {
        await follow([JSON.parse(String(change))]);
        this.#db.writeAsync(() => this.#unpark.run(seq ?? null));
      } catch (error) {
        this.#log('warn', 'parked change failed again', { seq, error: String(error) });
      }
    }
  }

  #startPump(): void {
    if (!this.#handler || this.#pumping) return;
    this.#pumping = this.#pump().then(
      () => {
        this.#pumping = undefined;
        if (this.#waiting.length > 0) this.#startPump();
      },
      // It fails only where everything stops or the storage has failed: what is left comes again after the next start.
      (error) => {
        this.#pumping = undefined;
        this.#stopDelivering();
        if (!this.#stop.signal.aborted) this.#log('error', 'change feed stopped', { error: String(error) });
      },
    );
  }

  async #pump(): Promise<void> {
    for (let follow = this.#handler; follow && this.#waiting.length > 0; follow = this.#handler) {
      const batches = this.#takeBatches();
      const changes = batches.flatMap((batch) => batch.changes);
      await this.#retryWhileFull(() => this.#deliver(follow, changes));
      await this.#retryWhileFull(() => this.#acknowledge(batches));
    }
  }

  /** A full disk is no fault of a change: it waits, and all behind it. Requests do not: they are refused. */
  async #retryWhileFull<T>(act: () => T): Promise<Awaited<T>> {
    for (;;) {
      try {
        const result = await act();
        this.backPressure.admit();
        return result;
      } catch (error) {
        if (!isStorageFullError(error) || this.#stop.signal.aborted) throw error;
        this.backPressure.refuse(error);
        await sleep(this.#clock, STORAGE_FULL_RETRY_MS, this.#stop.signal).done;
      }
    }
  }

  /** Some of what waits. */
  #takeBatches(): ChangeBatch[] {
    this.#gathering = undefined;
    const together: ChangeBatch[] = [];
    let changes = 0;
    while (changes < MAX_BATCH_CHANGES) {
      const batch = this.#waiting.shift();
      if (!batch) break;
      together.push(batch);
      changes += batch.changes.length;
    }
    this.backPressure.decrease(changes);
    return together;
  }

  #acknowledge(batches: ChangeBatch[]): void {
    for (const batch of batches) batch.isDone = true;
    const { seq } = batches.findLast((batch) => batch.seq !== undefined) ?? {};
    if (seq !== undefined) this.#db.writeAsync(() => this.#delete.run(seq));
  }

  async #deliver(follow: EngineHandlers['onChanges'], changes: RecordChange[]): Promise<void> {
    try {
      await follow(changes);
    } catch (error) {
      if (this.#stop.signal.aborted || isStorageFullError(error)) throw error;
      this.#log('warn', 'change batch failed, retrying one by one', {
        changes: changes.length,
        error: String(error),
      });
      for (const change of changes) await this.#deliverOne(follow, change);
    }
  }

  async #deliverOne(follow: EngineHandlers['onChanges'], change: RecordChange): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await follow([change]);
      } catch (error) {
        if (this.#stop.signal.aborted || isStorageFullError(error)) throw error;
        if (tries === MAX_ATTEMPTS) {
          const { pk, sk, v } = change.after ?? change.before ?? {};
          this.#log('error', 'change parked after max attempts', { pk, sk, v, error: String(error) });
          this.#db.writeAsync(() => this.#park.run(JSON.stringify(change), String(error)));
          return;
        }
        await sleep(this.#clock, 10 * 2 ** tries, this.#stop.signal).done;
      }
    }
  }
}

const isStorageFullError = (error: unknown): boolean => error instanceof ParleyError && error.code === 'storage_full';
