import type { Log } from '../../log.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { FileBlobs } from './blobs.ts';
import type { Database } from './database.ts';

/** Whoever puts a blob writes the record that names it within seconds. */
const UNOWNED_MS = 86_400_000;
const SWEEP_MS = 3_600_000;

/**
 * Removes blobs that no record has come to own for a day. Where a change has not been carried out, it may name one of them:
 * after a start nothing is removed before all changes of the life before have been, and nothing while one is put aside.
 */
export class BlobSweep {
  readonly #blobs: FileBlobs;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #isBehind: () => boolean;
  readonly #stop = new AbortController();
  #sweeping: Promise<void> | undefined;

  constructor(db: Database, blobs: FileBlobs, clock: Clock, log: Log) {
    this.#blobs = blobs;
    this.#clock = clock;
    this.#log = log;
    const last = Number(db.sql.prepare('SELECT max(seq) AS seq FROM changes').get()?.seq ?? 0);
    const open = db.sql.prepare(
      'SELECT EXISTS (SELECT 1 FROM changes WHERE seq <= ?) OR EXISTS (SELECT 1 FROM parked_changes) AS behind',
    );
    this.#isBehind = () => open.get(last)?.behind !== 0;
  }

  start(): void {
    this.#sweeping = this.#sweepForever();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#sweeping;
  }

  async #sweepForever(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        if (!this.#isBehind()) await this.#blobs.sweep(this.#clock.now() - UNOWNED_MS, signal);
      } catch (error) {
        this.#log('warn', 'blobs that nobody owns could not be removed', { error: String(error) });
      }
      await nap(this.#clock, SWEEP_MS, signal).over;
    }
  }
}
