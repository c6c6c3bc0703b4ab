import type { Json } from '../../kernel/json/json.ts';
import type { CancellableDelay } from '../../ports/clock.ts';
import type { ReceiveOptions } from '../../ports/queues.ts';

interface QueueWaiter {
  queueNames: readonly string[];
  skip?: ReceiveOptions['skip'];
  sleep: CancellableDelay;
  order: number;
}

/** By queue: the cost is independent of waiters on other queues. */
export class QueueWaiters {
  readonly #byQueue = new Map<string, Set<QueueWaiter>>();
  #added = 0;

  add(wait: Omit<QueueWaiter, 'order'>): QueueWaiter {
    this.#added += 1;
    const waiter = { ...wait, order: this.#added };
    for (const queueKey of waiter.queueNames) {
      const waiters = this.#byQueue.get(queueKey);
      if (waiters) waiters.add(waiter);
      else this.#byQueue.set(queueKey, new Set([waiter]));
    }
    return waiter;
  }

  delete(waiter: QueueWaiter): void {
    for (const queueKey of waiter.queueNames) {
      const waiters = this.#byQueue.get(queueKey);
      if (waiters?.delete(waiter) && waiters.size === 0) this.#byQueue.delete(queueKey);
    }
  }

  /** A receiver waits for several queues, and counts once. */
  count(queueNames: readonly string[]): number {
    return new Set(queueNames.flatMap((name) => [...(this.#byQueue.get(name) ?? [])])).size;
  }

  wakeOne(queueKeys: readonly string[], body?: Json): void {
    let first: QueueWaiter | undefined;
    for (const queueKey of queueKeys) {
      const waiter = this.#findFirst(queueKey, body);
      if (waiter && !(first && first.order < waiter.order)) first = waiter;
    }
    if (!first) return;
    this.delete(first);
    first.sleep.endEarly();
  }

  #findFirst(queueKey: string, body: Json | undefined): QueueWaiter | undefined {
    for (const waiter of this.#byQueue.get(queueKey) ?? []) {
      if (body === undefined || !waiter.skip?.(body)) return waiter;
    }
    return undefined;
  }
}
