import type { Json } from '../../json/json.ts';
import type { CancellableDelay } from '../../ports/clock.ts';
import type { ReceiveOptions } from '../../ports/queues.ts';

export interface QueueWaiter {
  lanes: readonly string[];
  leaves?: ReceiveOptions['leaves'];
  nap: CancellableDelay;
  /** In the order in which they began to wait. */
  place: number;
}

/** Whoever waits for a message, by lane: a message costs the same however many wait in other lanes. */
export class QueueWaiters {
  readonly #byLane = new Map<string, Set<QueueWaiter>>();
  #added = 0;

  add(wait: Omit<QueueWaiter, 'place'>): QueueWaiter {
    this.#added += 1;
    const waiter = { ...wait, place: this.#added };
    for (const lane of waiter.lanes) {
      const waiters = this.#byLane.get(lane);
      if (waiters) waiters.add(waiter);
      else this.#byLane.set(lane, new Set([waiter]));
    }
    return waiter;
  }

  delete(waiter: QueueWaiter): void {
    for (const lane of waiter.lanes) {
      const waiters = this.#byLane.get(lane);
      if (waiters?.delete(waiter) && waiters.size === 0) this.#byLane.delete(lane);
    }
  }

  /** One message is for one of those who wait in any of these lanes, the one that has waited longest and does not leave it. */
  wakeOne(lanes: readonly string[], body?: Json): void {
    let first: QueueWaiter | undefined;
    for (const lane of lanes) {
      const waiter = this.#findFirst(lane, body);
      if (waiter && !(first && first.place < waiter.place)) first = waiter;
    }
    if (!first) return;
    this.delete(first);
    first.nap.end();
  }

  #findFirst(lane: string, body: Json | undefined): QueueWaiter | undefined {
    for (const waiter of this.#byLane.get(lane) ?? []) {
      if (body === undefined || !waiter.leaves?.(body)) return waiter;
    }
    return undefined;
  }
}
