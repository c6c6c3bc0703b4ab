import type { Clock } from '../../shared/ports/clock.ts';

/** The real time, and a test may go ahead of it. */
export class MovableClock implements Clock {
  #ahead = 0;
  readonly #alarms = new Set<{ at: number; ring: () => void }>();

  now(): number {
    return Date.now() + this.#ahead;
  }

  setAlarm(at: number, ring: () => void): () => void {
    const alarm = { at, ring };
    const rung = (): void => {
      if (this.#alarms.delete(alarm)) ring();
    };
    this.#alarms.add(alarm);
    const timer = setTimeout(rung, Math.min(Math.max(0, at - this.now()), 2 ** 31 - 1));
    return () => {
      this.#alarms.delete(alarm);
      clearTimeout(timer);
    };
  }

  advance(ms: number): void {
    this.#ahead += ms;
    for (const alarm of [...this.#alarms].filter(({ at }) => at <= this.now())) {
      this.#alarms.delete(alarm);
      alarm.ring();
    }
  }
}
