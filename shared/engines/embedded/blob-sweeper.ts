import type { Log } from '../../kernel/log.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import type { Database } from './database.ts';
import type { FileBlobs } from './file-blobs.ts';

const UNRETAINED_MS = DAY_MS;
const SWEEP_INTERVAL_MS = 3_600_000;

/**
 * Clocks jump, and a pending change may refer to a blob. So deletion waits an hour and for all earlier changes, parked
 * ones included.
 */
export class BlobSweeper {
  readonly #blobs: FileBlobs;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lastChange: () => number;
  readonly #isBehind: (last: number) => boolean;
  readonly #stop = new AbortController();
  #candidates: { files: string[]; lastChange: number };
  #sweeping: Promise<void> | undefined;

  constructor(db: Database, blobs: FileBlobs, clock: Clock, log: Log) {
    this.#blobs = blobs;
    this.#clock = clock;
    this.#log = log;
    const last = db.sql.prepare('SELECT max(seq) AS seq FROM changes');
    const open = db.sql.prepare(
      'SELECT EXISTS (SELECT 1 FROM changes WHERE seq <= ?) OR EXISTS (SELECT 1 FROM parked_changes) AS behind',
    );
    this.#lastChange = () => Number(last.get()?.seq ?? 0);
    this.#isBehind = (seq) => open.get(seq)?.behind !== 0;
    this.#candidates = { files: [], lastChange: this.#lastChange() };
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
    await this.#logFailure(() => this.#findCandidates());
    while (!signal.aborted) {
      await this.#logFailure(() => this.#sweep(signal));
      await sleep(this.#clock, SWEEP_INTERVAL_MS, signal).done;
    }
  }

  async #logFailure(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#log('warn', 'blob sweep failed', { error: String(error) });
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    if (this.#isBehind(this.#candidates.lastChange)) return;
    for (const file of this.#candidates.files) {
      if (signal.aborted) return;
      await this.#blobs.deleteUnretained(file);
    }
    await this.#findCandidates();
  }

  async #findCandidates(): Promise<void> {
    const files = await this.#blobs.listUnretained(this.#clock.now() - UNRETAINED_MS);
    this.#candidates = { files, lastChange: this.#lastChange() };
  }
}
