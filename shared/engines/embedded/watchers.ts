import { type CancellableDelay, type Clock, sleep } from '../../ports/clock.ts';
import type { Watcher } from '../../ports/records.ts';

/** Remembers a wake-up that comes while a listener does not wait. */
export class Watchers {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(key: string): void {
    const listeners = this.#byKey.get(key);
    if (listeners) for (const wake of listeners) wake();
  }

  watch(key: string): Watcher {
    let hasRung = false;
    let current: CancellableDelay | undefined;
    const wake = (): void => {
      hasRung = true;
      current?.endEarly();
    };
    const wakers = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, wakers.add(wake));
    return {
      next: async (ms, signal) => {
        if (!hasRung) {
          current = sleep(this.#clock, ms, signal);
          await current.done;
        }
        hasRung = false;
      },
      close: () => {
        wakers.delete(wake);
        if (wakers.size === 0 && this.#byKey.get(key) === wakers) this.#byKey.delete(key);
      },
    };
  }
}
