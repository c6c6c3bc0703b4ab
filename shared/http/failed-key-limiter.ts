import { ParleyError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { Clock } from '../ports/clock.ts';

const MINUTE_MS = 60_000;
/** More than these in one minute are counted as one, so that a flood from everywhere fills neither memory nor log. */
const MAX_SOURCES = 1000;
const OTHER_SOURCES = 'others';

/** Counts the keys that were wrong, by where they came from. A key is 256 random bits, and is never logged. */
export class FailedKeyLimiter {
  readonly #perMinute: number;
  readonly #log: Log;
  readonly #clock: Clock;
  #minute = 0;
  #failed = new Map<string, number>();
  #failedLastMinute = new Map<string, number>();

  constructor(perMinute: number, log: Log, clock: Clock) {
    this.#perMinute = perMinute;
    this.#log = log;
    this.#clock = clock;
  }

  /** What to tell a source whose key was wrong: nothing more once there were too many. */
  recordFailure(from: string, error: ParleyError): ParleyError {
    const now = this.#clock.now();
    this.#rotateMinute(Math.floor(now / MINUTE_MS));
    const source = this.#failed.has(from) || this.#failed.size < MAX_SOURCES ? from : OTHER_SOURCES;
    const failed = (this.#failed.get(source) ?? 0) + 1;
    this.#failed.set(source, failed);
    if (failed === 1) {
      const minuteBefore = this.#failedLastMinute.get(source) ?? 0;
      this.#log('warn', 'authentication failed', { source, minuteBefore });
    }
    if (failed <= this.#perMinute) return error;
    const retryAfterSeconds = Math.ceil(((this.#minute + 1) * MINUTE_MS - now) / 1000);
    return new ParleyError(
      'rate_limited',
      `More than ${this.#perMinute} keys from ${from} were wrong within a minute. Send a valid key, or wait for Retry-After.`,
      { retryable: true, details: { retryAfterSeconds } },
    );
  }

  #rotateMinute(minute: number): void {
    if (minute === this.#minute) return;
    this.#failedLastMinute = minute === this.#minute + 1 ? this.#failed : new Map();
    this.#failed = new Map();
    this.#minute = minute;
  }
}
