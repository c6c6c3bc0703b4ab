/** Waking every waiter for each freed place would cost O(waiters) each time. */
export class BackPressure {
  readonly #capacity: number;
  readonly #waiters = new Fifo<PromiseWithResolvers<void>>();
  #isOpen = false;
  #refusal: unknown;
  #changes = 0;
  #woken = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Before `enable` nothing frees places, so nothing waits. */
  enable(): void {
    this.#isOpen = true;
  }

  disable(): void {
    this.#isOpen = false;
    for (let waiter = this.#waiters.shift(); waiter; waiter = this.#waiters.shift()) waiter.resolve();
  }

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

  waitForCapacity<T>(write: () => Promise<T>): Promise<T> {
    const isFree = !this.#isOpen || (this.#waiters.size === 0 && this.#hasCapacity());
    return isFree ? write() : this.#waitAndRun(write);
  }

  async #waitAndRun<T>(write: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    await waiter.promise;
    return await this.#runWoken(write);
  }

  #runWoken<T>(write: () => Promise<T>): Promise<T> {
    try {
      return write();
    } finally {
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

/** Compacting at 1,024 empty places moves each element at most twice. */
const COMPACT_AT = 1024;

/** `Array.shift` is O(n) on long arrays. */
class Fifo<T> {
  #items: (T | undefined)[] = [];
  #front = 0;

  get size(): number {
    return this.#items.length - this.#front;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#front];
    this.#items[this.#front] = undefined;
    this.#front += 1;
    if (this.#front >= COMPACT_AT && this.#front * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#front);
      this.#front = 0;
    }
    return item;
  }
}
