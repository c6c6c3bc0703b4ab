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

interface ChangeBatch {
  changes: RecordChange[];
  /** Unset until the group is in the journal. */
  seq?: number;
  isDone?: true;
}

const MAX_BATCH_CHANGES = 128;
/** Beyond this, requests wait: 4,096 changes of 10 KB are 40 MB. */
const MAX_PENDING = 4096;
const STORAGE_FULL_RETRY_MS = 1000;
/** Eight failures are a bug: the change is parked and does not block the others. */
const MAX_ATTEMPTS = 8;

/**
 * Delivers each change in order until acknowledged, also after a crash. Delivery starts while the group is open:
 * effects are written with their change, and only unfinished changes are stored.
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
  readonly #waiting: ChangeBatch[];
  /** For requests only. Effects never wait, because they free the places. */
  readonly backPressure = new BackPressure(MAX_PENDING);
  #uncommitted: ChangeBatch[] = [];
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

  append(change: RecordChange): void {
    const item = change.after ?? change.before;
    if (!item || !this.#kinds.has(item.sk)) return;
    this.#gathering ??= this.#startBatch();
    this.#gathering.changes.push(change);
    this.backPressure.increase(1);
  }

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

  start(handler: EngineHandlers['onChanges']): void {
    this.#handler = handler;
    this.backPressure.enable();
    this.#retrying = this.#retryParked(handler);
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

  /** Retried once per start: the bug may be fixed, and effects may be late. */
  async #retryParked(handler: EngineHandlers['onChanges']): Promise<void> {
    for (const { seq, change } of this.#db.sql.prepare('SELECT seq, change FROM parked_changes').all()) {
      try {
        await handler([JSON.parse(String(change))]);
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
      // The rest is delivered after the next start.
      (error) => {
        this.#pumping = undefined;
        this.#stopDelivering();
        if (!this.#stop.signal.aborted) this.#log('error', 'change feed stopped', { error: String(error) });
      },
    );
  }

  async #pump(): Promise<void> {
    for (let handler = this.#handler; handler && this.#waiting.length > 0; handler = this.#handler) {
      const batches = this.#takeBatches();
      const changes = batches.flatMap((batch) => batch.changes);
      await this.#retryWhileFull(() => this.#deliver(handler, changes));
      await this.#retryWhileFull(() => this.#acknowledge(batches));
    }
  }

  /** On a full disk the feed waits, while requests are rejected. */
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

  async #deliver(handler: EngineHandlers['onChanges'], changes: RecordChange[]): Promise<void> {
    try {
      await handler(changes);
    } catch (error) {
      if (this.#stop.signal.aborted || isStorageFullError(error)) throw error;
      this.#log('warn', 'change batch failed, retrying one by one', {
        changes: changes.length,
        error: String(error),
      });
      for (const change of changes) await this.#deliverOne(handler, change);
    }
  }

  async #deliverOne(handler: EngineHandlers['onChanges'], change: RecordChange): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await handler([change]);
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
