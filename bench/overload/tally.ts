import { Latencies, type Spread } from './latencies.ts';

export interface FloodResult {
  sent: number;
  /** Due but not sent: the server did not read, or all callers waited. */
  withheld: number;
  accepted: number;
  refused: Record<string, number>;
  withoutRetryAfter: number;
  unanswered: number;
  closed: number;
  acceptedMs: Spread;
}

export class Tally {
  readonly acknowledged: string[] = [];
  readonly #latencies = new Latencies();
  readonly #refused: Record<string, number> = {};
  sent = 0;
  withheld = 0;
  unanswered = 0;
  closed = 0;
  #withoutRetryAfter = 0;

  count(status: number, id: string, ms: number, head: string): void {
    if (status === 202) {
      this.acknowledged.push(id);
      this.#latencies.add(ms);
      return;
    }
    this.#refused[status] = (this.#refused[status] ?? 0) + 1;
    if (!/\r\nretry-after: \d+/i.test(head)) this.#withoutRetryAfter += 1;
  }

  get result(): FloodResult {
    return {
      sent: this.sent,
      withheld: this.withheld,
      accepted: this.acknowledged.length,
      refused: this.#refused,
      withoutRetryAfter: this.#withoutRetryAfter,
      unanswered: this.unanswered,
      closed: this.closed,
      acceptedMs: this.#latencies.spread,
    };
  }
}
