import { type CancellableDelay, type Clock, sleep } from '../ports/clock.ts';

/**
 * What happens within this time is told to a stream together: ten writes a second, however much happens. The first after a quiet while
 * is told at once.
 */
export const COALESCE_MS = 100;

/** Those who wait for the same. */
export class Waiters {
  readonly #clock: Clock;
  readonly #delays = new Set<CancellableDelay>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Until all are woken, and for `ms` at the most. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    const own = sleep(this.#clock, ms, signal);
    this.#delays.add(own);
    try {
      await own.done;
    } finally {
      this.#delays.delete(own);
    }
  }

  wakeAll(): void {
    for (const { endEarly } of this.#delays) endEarly();
  }
}
