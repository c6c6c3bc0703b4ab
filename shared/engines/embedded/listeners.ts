import { type Clock, type Nap, nap } from '../../ports/clock.ts';
import type { Listener } from '../../ports/records.ts';

/** Wakes whoever waits for a key, and remembers for each listener whether it rang while nobody waited. */
export class Listeners {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(key: string): void {
    for (const wake of this.#byKey.get(key) ?? []) wake();
  }

  listen(key: string): Listener {
    let hasRung = false;
    let current: Nap | undefined;
    const wake = (): void => {
      hasRung = true;
      current?.end();
    };
    const listeners = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, listeners.add(wake));
    return {
      heard: async (ms, signal) => {
        if (!hasRung) {
          current = nap(this.#clock, ms, signal);
          await current.over;
        }
        hasRung = false;
      },
      close: () => {
        listeners.delete(wake);
        if (listeners.size === 0 && this.#byKey.get(key) === listeners) this.#byKey.delete(key);
      },
    };
  }
}
