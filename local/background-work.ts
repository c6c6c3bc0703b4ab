import type { Log } from '../shared/kernel/log.ts';

/** More waits for its turn: a receiver that hangs keeps one place for its time-out. */
const MAX_AT_ONCE = 64;

/** Work that nobody awaits, such as calls of receivers that may hang. It is recorded, so that it may be cut off. */
export class BackgroundWork {
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #waiting: ((signal: AbortSignal) => Promise<void>)[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  start(work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stop.signal.aborted) return;
    if (this.#running.size >= MAX_AT_ONCE) {
      this.#waiting.push(work);
      return;
    }
    const running = work(this.#stop.signal)
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted) this.#log('warn', 'background work failed', { error: String(error) });
      })
      .then(() => {
        this.#running.delete(running);
        const next = this.#waiting.shift();
        if (next) this.start(next);
      });
    this.#running.add(running);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#waiting.length = 0;
    await Promise.all(this.#running);
  }
}
