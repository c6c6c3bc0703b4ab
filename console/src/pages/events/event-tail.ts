import { signal } from '@preact/signals';
import { type ParleyEvent, subscribe } from '../../api/event-stream.ts';

/** More is not read by anyone, and would be kept for nothing. */
const MAX_KEPT = 5000;

/** The newest events first. Paused, it counts what it does not show. */
export class EventTail {
  readonly shown = signal<ParleyEvent[]>([]);
  readonly isPaused = signal(false);
  readonly held = signal(0);
  readonly perSecond = signal(0);
  #waiting: ParleyEvent[] = [];
  #arrivals: [at: number, count: number][] = [];
  #leave: (() => void) | undefined;

  start(): void {
    this.#leave = subscribe((events) => this.#add(events));
  }

  stop(): void {
    this.#leave?.();
  }

  pause(isPaused: boolean): void {
    this.isPaused.value = isPaused;
    if (isPaused) return;
    this.#show(this.#waiting);
    this.#waiting = [];
    this.held.value = 0;
  }

  clear(): void {
    this.shown.value = [];
  }

  #add(events: ParleyEvent[]): void {
    const now = Date.now();
    this.#arrivals = [...this.#arrivals, [now, events.length] as [number, number]].filter(([at]) => now - at < 5000);
    this.perSecond.value = Math.round(this.#arrivals.reduce((sum, [, count]) => sum + count, 0) / 5);
    if (!this.isPaused.value) {
      this.#show(events);
      return;
    }
    this.#waiting = [...this.#waiting, ...events].slice(-MAX_KEPT);
    this.held.value = this.#waiting.length;
  }

  #show(events: ParleyEvent[]): void {
    this.shown.value = [...events.toReversed(), ...this.shown.value].slice(0, MAX_KEPT);
  }
}
