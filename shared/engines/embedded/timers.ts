import { ParleyError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { Followers } from '../../ports/followers.ts';
import type { Item } from '../../ports/records.ts';
import type { Database } from './database.ts';
import type { EventStore } from './events.ts';
import type { RecordStore } from './records.ts';

const BATCH = 64;
/** A record that stays due although it was handled is tried again after this, not at once. */
const PAUSE_MS = 100;
/** One that cannot be handled is left alone for this long, so that it does not stand in the way of others. */
const LEFT_ALONE_MS = 10_000;
const SWEEP_MS = 60_000;
const SWEEP_BATCH = 256;

/** Calls the follower for each record on its due time, and removes what has expired. */
export class Timers {
  readonly #db: Database;
  readonly #records: RecordStore;
  readonly #events: EventStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stop = new AbortController();
  #follow: Followers['due'] | undefined;
  #alarm: { at: number; cancel: () => void } | undefined;
  #firing: Promise<void> | undefined;
  /** The records that could not be handled, and until when they are left alone. */
  readonly #failing = new Map<string, number>();
  #sweeping: Promise<void> | undefined;

  constructor(db: Database, records: RecordStore, events: EventStore, clock: Clock, log: Log) {
    this.#db = db;
    this.#records = records;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
    records.onDue = (due) => db.afterCommit(() => this.#arm(due));
  }

  start(follow: Followers['due']): void {
    this.#follow = follow;
    this.#armNext();
    this.#sweeping = this.#sweepForever();
  }

  async stop(): Promise<void> {
    this.#follow = undefined;
    this.#stop.abort();
    this.#alarm?.cancel();
    await Promise.all([this.#firing, this.#sweeping]);
  }

  #armNext(): void {
    // Those left alone are overdue: beside them, what counts is what comes due from now on.
    const after = this.#failing.size === 0 ? 0 : this.#clock.now();
    const next = Math.min(this.#records.rows.nextDue(after) ?? Number.POSITIVE_INFINITY, ...this.#failing.values());
    if (Number.isFinite(next)) this.#arm(next);
  }

  #arm(at: number): void {
    if (!this.#follow || this.#firing || (this.#alarm && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    const cancel = this.#clock.alarm(at, () => {
      this.#alarm = undefined;
      this.#firing = this.#fire().finally(() => {
        this.#firing = undefined;
        if (this.#follow) this.#armNext();
      });
    });
    this.#alarm = { at, cancel };
  }

  async #fire(): Promise<void> {
    let before = '';
    for (let due = this.#due(); due.length > 0 && this.#follow; due = this.#due()) {
      await Promise.all(due.map((record) => this.#handle(record)));
      const handled = due.map(({ pk, sk, v }) => `${pk} ${sk} ${v}`).join();
      if (handled === before) await nap(this.#clock, PAUSE_MS, this.#stop.signal).over;
      before = handled;
    }
  }

  #due(): Item[] {
    const now = this.#clock.now();
    for (const [key, until] of this.#failing) if (until <= now) this.#failing.delete(key);
    const due = this.#records.rows.dueBy(now, BATCH + this.#failing.size);
    return due.filter((record) => !this.#failing.has(keyOf(record)));
  }

  async #handle(record: Item): Promise<void> {
    try {
      await this.#follow?.(record);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const willPass = error instanceof ParleyError && error.retry === 'later';
      const facts = { pk: record.pk, sk: record.sk, error: String(error) };
      this.#log(willPass ? 'warn' : 'error', 'a due record could not be handled', facts);
      this.#failing.set(keyOf(record), this.#clock.now() + (willPass ? PAUSE_MS : LEFT_ALONE_MS));
    }
  }

  async #sweepForever(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      while ((await this.#sweep()) >= SWEEP_BATCH && !this.#stop.signal.aborted);
      await nap(this.#clock, SWEEP_MS, this.#stop.signal).over;
    }
  }

  /** A little at a time, found by index: removing what is old never holds up what is new. */
  #sweep(): Promise<number> {
    return this.#db.writeUnsynced(() =>
      Math.max(this.#records.removeExpired(SWEEP_BATCH), this.#events.removeExpired(SWEEP_BATCH)),
    );
  }
}

const keyOf = ({ pk, sk }: Item): string => `${pk} ${sk}`;
