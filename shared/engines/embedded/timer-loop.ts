import { ParleyError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import type { EngineHandlers } from '../../ports/engine-handlers.ts';
import type { Item } from '../../ports/records.ts';
import type { Database } from './database.ts';
import type { EventStore } from './sqlite-events.ts';
import type { RecordStore } from './sqlite-records.ts';

const TIMER_BATCH = 64;
const PAUSE_MS = 100;
/** A failing record must not block others. */
const FAILED_RETRY_MS = 10_000;
const STORAGE_FULL_RETRY_MS = 1000;
const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_BATCH = 256;

export class TimerLoop {
  readonly #db: Database;
  readonly #records: RecordStore;
  readonly #events: EventStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stop = new AbortController();
  #handler: EngineHandlers['onTimer'] | undefined;
  #alarm: { at: number; cancel: () => void } | undefined;
  #firing: Promise<void> | undefined;
  readonly #failing = new Map<string, number>();
  #sweeping: Promise<void> | undefined;

  constructor(db: Database, records: RecordStore, events: EventStore, clock: Clock, log: Log) {
    this.#db = db;
    this.#records = records;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
    records.onDue = (due) => db.onAfterCommit(() => this.#setAlarm(due));
  }

  start(handler: EngineHandlers['onTimer']): void {
    this.#handler = handler;
    this.#setNextAlarm();
    this.#sweeping = this.#sweepForever();
  }

  async stop(): Promise<void> {
    this.#handler = undefined;
    this.#stop.abort();
    this.#alarm?.cancel();
    await Promise.all([this.#firing, this.#sweeping]);
  }

  #setNextAlarm(): void {
    // Failing records are overdue; the next wake-up depends on the others.
    const after = this.#failing.size === 0 ? 0 : this.#clock.now();
    const first = this.#read(() => this.#records.table.findNextDue(after), undefined);
    const next = Math.min(first ?? Number.POSITIVE_INFINITY, ...this.#failing.values());
    if (Number.isFinite(next)) this.#setAlarm(next);
  }

  #setAlarm(at: number): void {
    if (!this.#handler || this.#firing || (this.#alarm && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    const cancel = this.#clock.setAlarm(at, () => {
      this.#alarm = undefined;
      this.#firing = this.#runDue().finally(() => {
        this.#firing = undefined;
        if (this.#handler) this.#setNextAlarm();
      });
    });
    this.#alarm = { at, cancel };
  }

  async #runDue(): Promise<void> {
    let before = '';
    for (let due = this.#listDue(); due.length > 0 && this.#handler; due = this.#listDue()) {
      await Promise.all(due.map((record) => this.#handleDue(record)));
      const handled = due.map(({ pk, sk, v }) => `${pk} ${sk} ${v}`).join();
      if (handled === before) await sleep(this.#clock, PAUSE_MS, this.#stop.signal).done;
      before = handled;
    }
  }

  #listDue(): Item[] {
    const now = this.#clock.now();
    for (const [key, until] of this.#failing) if (until <= now) this.#failing.delete(key);
    const due = this.#read(() => this.#records.table.listDue(now, TIMER_BATCH + this.#failing.size), []);
    return due.filter((record) => !this.#failing.has(formatKey(record)));
  }

  #read<T>(operation: () => T, otherwise: T): T {
    try {
      return this.#db.readUnsynced(operation);
    } catch (error) {
      this.#db.recordFailure(error);
      return otherwise;
    }
  }

  async #handleDue(record: Item): Promise<void> {
    try {
      await this.#handler?.(record);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (isStorageFullError(error)) {
        this.#failing.set(formatKey(record), this.#clock.now() + STORAGE_FULL_RETRY_MS);
        return;
      }
      const willPass = error instanceof ParleyError && error.retryable;
      const facts = { pk: record.pk, sk: record.sk, error: String(error) };
      this.#log(willPass ? 'warn' : 'error', 'timer handler failed', facts);
      this.#failing.set(formatKey(record), this.#clock.now() + (willPass ? PAUSE_MS : FAILED_RETRY_MS));
    }
  }

  async #sweepForever(): Promise<void> {
    try {
      while (!this.#stop.signal.aborted) {
        while ((await this.#sweepUnlessFull()) >= SWEEP_BATCH && !this.#stop.signal.aborted);
        await sleep(this.#clock, SWEEP_INTERVAL_MS, this.#stop.signal).done;
      }
    } catch (error) {
      this.#db.recordFailure(error);
    }
  }

  async #sweepUnlessFull(): Promise<number> {
    try {
      return await this.#sweep();
    } catch (error) {
      if (isStorageFullError(error)) return 0;
      throw error;
    }
  }

  /** In small steps, so that deletes never delay writes. */
  #sweep(): Promise<number> {
    return this.#db.writeUnsynced(() =>
      Math.max(this.#records.deleteExpired(SWEEP_BATCH), this.#events.deleteExpired(SWEEP_BATCH)),
    );
  }
}

const isStorageFullError = (error: unknown): boolean => error instanceof ParleyError && error.code === 'storage_full';

const formatKey = ({ pk, sk }: Item): string => `${pk} ${sk}`;
