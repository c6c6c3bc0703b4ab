/** How many invocations may run at once. */
export class ConcurrencyPool {
  readonly #most: number;
  #running = 0;
  #highest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get highest(): number {
    return this.#highest;
  }

  enter(): boolean {
    if (this.#running >= this.#most) return false;
    this.#running += 1;
    this.#highest = Math.max(this.#highest, this.#running);
    return true;
  }

  leave(): void {
    this.#running -= 1;
  }
}

/** An account's default. A new account may have 10. */
export const DEFAULT_CONCURRENCY = 1000;
/** Lambda keeps so many for the functions without a reservation, or all of them where the account has fewer. */
const UNRESERVED_CONCURRENCY = 100;

/** What is left for the functions without a reservation, or what is wrong. */
export const splitConcurrency = (account: number, reserved: readonly number[]): number | string => {
  const left = account - reserved.reduce((sum, one) => sum + one, 0);
  const least = Math.min(account, UNRESERVED_CONCURRENCY);
  return left >= least ? left : `of a concurrency of ${account}, ${least} must stay unreserved`;
};
