/** The server has 128 calls of one key in flight at the same time, until they wait. */
const SLOTS = 96;
const ALONE_SECONDS = 25;
const AMONG_MANY_SECONDS = 2;
const CROWDED_SECONDS = 1;

/** Takes turns, where more results are waited for than calls may wait: each is asked for in a while. */
export class WaitSlots {
  readonly #queue: (() => void)[] = [];
  #used = 0;

  async use<T>(signal: AbortSignal | undefined, call: (waitSeconds: number) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#used >= SLOTS) await this.#enter(signal);
    else this.#used++;
    try {
      return await call(this.#getWaitSeconds());
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#used--;
    }
  }

  #enter(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#queue.push(enter);
    });
  }

  #getWaitSeconds(): number {
    if (this.#queue.length > 0) return CROWDED_SECONDS;
    return this.#used > SLOTS / 2 ? AMONG_MANY_SECONDS : ALONE_SECONDS;
  }
}
