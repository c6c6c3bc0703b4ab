export interface Usage {
  requests: number;
  bytes: number;
}

/** Uses no capacity while the request waits. */
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

  /** After a wait the request is counted again but never rejected: its work is half done. */
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
