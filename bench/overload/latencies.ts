export interface Spread {
  count: number;
  p50: number;
  p99: number;
  max: number;
}

/** Steps of 5 %: from 0.01 ms, 400 steps exceed a day. */
const STEP = Math.log(1.05);
const FIRST_MS = 0.01;

/** Constant memory; precise to 5 %, the maximum exact. */
export class Latencies {
  readonly #counts = new Array<number>(500).fill(0);
  #count = 0;
  #max = 0;

  add(ms: number): void {
    const at = Math.max(0, Math.ceil(Math.log(ms / FIRST_MS) / STEP));
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count += 1;
    this.#max = Math.max(this.#max, ms);
  }

  get spread(): Spread {
    return { count: this.#count, p50: this.#percentile(50), p99: this.#percentile(99), max: this.#max };
  }

  #percentile(percent: number): number {
    let left = (this.#count * percent) / 100;
    for (const [at, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return Math.min(this.#max, FIRST_MS * Math.exp(at * STEP));
    }
    return this.#max;
  }
}
