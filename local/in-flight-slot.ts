/** How much is in flight, of one key or in all. */
export interface Usage {
  requests: number;
  bytes: number;
}

/** What one request takes of the bounds. While it only waits it takes nothing. */
export class InFlightSlot {
  readonly #usages: readonly Usage[];
  #bytes = 0;
  #state: 'working' | 'waiting' | 'released' = 'working';

  constructor(uses: readonly Usage[]) {
    this.#usages = uses;
    this.#count(1);
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
    for (const use of this.#usages) use.bytes += bytes;
  }

  /** Whoever goes on after a wait is counted again, and not refused: its work is half done. */
  async releaseWhileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#state !== 'working') return wait();
    this.#state = 'waiting';
    this.#count(-1);
    try {
      return await wait();
    } finally {
      if (this.#state === 'waiting') {
        this.#state = 'working';
        this.#count(1);
      }
    }
  }

  release(): void {
    if (this.#state === 'working') this.#count(-1);
    this.#state = 'released';
  }

  #count(by: 1 | -1): void {
    for (const use of this.#usages) {
      use.requests += by;
      use.bytes += by * this.#bytes;
    }
  }
}
