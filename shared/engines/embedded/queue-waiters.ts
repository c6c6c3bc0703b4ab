import type { Json } from '../../kernel/json/json.ts';
import type { CancellableDelay } from '../../ports/clock.ts';
import type { ReceiveOptions } from '../../ports/queues.ts';

export interface QueueWaiter {
  queueNames: readonly string[];
  skip?: ReceiveOptions['skip'];
  sleep: CancellableDelay;
  /** In the order in which they began to wait. */
  order: number;
}

/** Whoever waits for a message, by lane: a message costs the same however many wait in other lanes. */
export class QueueWaiters {
  readonly #byQueue = new Map<string, Set<QueueWaiter>>();
  #added = 0;

  add(wait: Omit<QueueWaiter, 'order'>): QueueWaiter {
    this.#added += 1;
    const waiter = { ...wait, order: this.#added };
    for (const lane of waiter.queueNames) {
      const waiters = this.#byQueue.get(lane);
      if (waiters) waiters.add(waiter);
      else this.#byQueue.set(lane, new Set([waiter]));
    }
    return waiter;
  }

  delete(waiter: QueueWaiter): void {
    for (const lane of waiter.queueNames) {
      const waiters = this.#byQueue.get(lane);
      if (waiters?.delete(waiter) && waiters.size === 0) this.#byQueue.delete(lane);
    }
  }

  /** One message is for one of those who wait in any of these lanes, the one that has waited longest and does not leave it. */
  wakeOne(lanes: readonly string[], body?: Json): void {
    let first: QueueWaiter | undefined;
    for (const lane of lanes) {
      const waiter = this.#findFirst(lane, body);
      if (waiter && !(first && first.order < waiter.order)) first = waiter;
    }
    if (!first) return;
    this.delete(first);
    first.sleep.endEarly();
  }

  #findFirst(lane: string, body: Json | undefined): QueueWaiter | undefined {
    for (const waiter of this.#byQueue.get(lane) ?? []) {
      if (body === undefined || !waiter.skip?.(body)) return waiter;
    }
    return undefined;
  }
}
