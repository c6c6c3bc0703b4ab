import type { Clock } from '../../../shared/ports/clock.ts';

interface Alarm {
  at: number;
  fire: () => void;
}

/** Time that stands still until a test moves it. */
export class TestClock implements Clock {
  #now: number;
  readonly #alarms = new Set<Alarm>();

  constructor(now = Date.parse('2026-03-01T12:00:00Z')) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setAlarm(at: number, ring: () => void): () => void {
    const alarm = { at, fire: ring };
    this.#alarms.add(alarm);
    // An alarm for a time that has come rings soon, but never inside the call that sets it.
    if (at <= this.#now) setImmediate(() => this.#ring(alarm));
    return () => this.#alarms.delete(alarm);
  }

  /** Lets time pass, ringing every alarm at its own time. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#nextBy(until); next; next = this.#nextBy(until)) {
      this.#now = Math.max(this.#now, next.at);
      this.#ring(next);
    }
    this.#now = until;
  }

  #ring(alarm: Alarm): void {
    if (this.#alarms.delete(alarm)) alarm.fire();
  }

  #nextBy(until: number): Alarm | undefined {
    const due = [...this.#alarms].filter(({ at }) => at <= until);
    return due.toSorted((a, b) => a.at - b.at)[0];
  }
}
