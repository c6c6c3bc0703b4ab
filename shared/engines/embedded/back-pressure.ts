import { Fifo } from './fifo.ts';

/**
 * Room for a bounded number of changes. Whoever finds none waits in line, and is woken once, when it may write: waking all
 * of them for each change that leaves would cost as much as there are waiters each time.
 */
export class BackPressure {
  readonly #capacity: number;
  readonly #waiters = new Fifo<PromiseWithResolvers<void>>();
  #isOpen = false;
  /** Why nobody makes room for now. */
  #refusal: unknown;
  #changes = 0;
  /** Woken, and has not written yet. */
  #woken = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Before it is opened and after it is closed nobody makes room, and nobody waits. */
  enable(): void {
    this.#isOpen = true;
  }

  disable(): void {
    this.#isOpen = false;
    for (let waiter = this.#waiters.shift(); waiter; waiter = this.#waiters.shift()) waiter.resolve();
  }

  /** Where nobody makes room until something else has happened: whoever waits, or would have to, is told why. */
  refuse(error: unknown): void {
    this.#refusal = error;
    for (let waiter = this.#waiters.shift(); waiter; waiter = this.#waiters.shift()) waiter.reject(error);
  }

  admit(): void {
    this.#refusal = undefined;
  }

  increase(changes: number): void {
    this.#changes += changes;
  }

  decrease(changes: number): void {
    this.#changes -= changes;
    this.#wakeWaiters();
  }

  /** Runs a write once there is room for it. */
  async waitForCapacity<T>(write: () => Promise<T>): Promise<T> {
    if (!this.#isOpen || (this.#waiters.size === 0 && this.#hasCapacity())) return write();
    if (this.#refusal !== undefined) throw this.#refusal;
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    await waiter.promise;
    return this.#runWoken(write);
  }

  #runWoken<T>(write: () => Promise<T>): Promise<T> {
    try {
      return write();
    } finally {
      // A write that was refused has left its room to the next.
      this.#woken = Math.max(0, this.#woken - 1);
      this.#wakeWaiters();
    }
  }

  #hasCapacity(): boolean {
    return this.#changes + this.#woken < this.#capacity;
  }

  #wakeWaiters(): void {
    while (this.#hasCapacity()) {
      const waiter = this.#waiters.shift();
      if (!waiter) return;
      this.#woken += 1;
      waiter.resolve();
    }
  }
}
