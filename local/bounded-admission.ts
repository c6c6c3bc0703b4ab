import { AsyncLocalStorage } from 'node:async_hooks';
import type { Config } from '../shared/config/config.ts';
import type { Admission } from '../shared/http/admission.ts';
import type { HttpRequest } from '../shared/http/http-message.ts';
import { ParleyError } from '../shared/kernel/errors.ts';
import type { Log } from '../shared/kernel/log.ts';
import { type Clock, sleep, systemClock } from '../shared/ports/clock.ts';

/** Requests in flight end within a tenth of this; `Retry-After` has whole seconds. */
const RETRY_AFTER_SECONDS = 1;
/** At about 50 µs each, 200 rejections take 1 % of a core. */
const MAX_IMMEDIATE_REJECTIONS = 200;
const SECOND_MS = 1000;
const LOG_MS = 60_000;

interface KeyUsage extends Usage {
  calls: number;
}

/**
 * One key may have as many requests in flight as remain free. Of 256, one key gets 128; four busy keys get 51 each and
 * leave 52.
 */
export class BoundedAdmission implements Admission {
  #limits: Config['limits']['inFlight'];
  readonly #log: Log;
  /** Rejections follow real time, even if a test controls the other clock. */
  readonly #clock: Clock;
  readonly #all: Usage = { requests: 0, bytes: 0 };
  readonly #byKey = new Map<string, KeyUsage>();
  readonly #current = new AsyncLocalStorage<InFlightSlot>();
  #secondBegan = Number.NEGATIVE_INFINITY;
  #refusedInSecond = 0;
  #rejected = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(limits: Config['limits']['inFlight'], log: Log, clock: Clock = systemClock) {
    this.#limits = limits;
    this.#log = log;
    this.#clock = clock;
  }

  get inFlight(): Readonly<Usage> {
    return this.#all;
  }

  setLimits(limits: Config['limits']['inFlight']): void {
    this.#limits = limits;
  }

  assertCapacity(): void {
    if (this.#all.requests >= this.#limits.requests) throw this.#overloadedError();
  }

  async run<T>(key: string, request: HttpRequest, act: (request: HttpRequest) => Promise<T>): Promise<T> {
    const { requests, requestsPerKey } = this.#limits;
    const own = this.#byKey.get(key) ?? { requests: 0, bytes: 0, calls: 0 };
    if (own.requests >= requestsPerKey) throw this.#tooManyError(`${requestsPerKey} requests`);
    if (own.requests >= requests - this.#all.requests) throw this.#overloadedError();
    this.#byKey.set(key, own);
    own.calls += 1;
    const slot = new InFlightSlot([own, this.#all]);
    try {
      return await this.#current.run(slot, () => act(this.#boundBody(request, own, slot)));
    } finally {
      slot.release();
      own.calls -= 1;
      if (own.calls === 0) this.#byKey.delete(key);
    }
  }

  releaseWhileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    const slot = this.#current.getStore();
    return slot ? slot.releaseWhileWaiting(wait) : wait();
  }

  #boundBody(request: HttpRequest, own: Usage, slot: InFlightSlot): HttpRequest {
    const readBody = request.readBody.bind(request);
    // Assigned by name: V8 allocates a function literal that is assigned to a property in the old generation, where it
    // keeps the request with all that it holds until the next full collection.
    const readBoundedBody = async (limit: number): Promise<Uint8Array> => {
      const bytes = getDeclaredBytes(request, limit);
      if (bytes <= limit) {
        this.#assertBytes(own, bytes);
        slot.addBytes(bytes);
      }
      return await readBody(limit);
    };
    request.readBody = readBoundedBody;
    return request;
  }

  /** A single request is never too large. */
  #assertBytes(own: Usage, bytes: number): void {
    const { bytes: most, bytesPerKey } = this.#limits;
    const free = most - this.#all.bytes;
    if (own.bytes > 0 && own.bytes + bytes > bytesPerKey) throw this.#tooManyError(`${bytesPerKey} bytes of bodies`);
    if (this.#all.bytes > 0 && own.bytes + bytes > free) throw this.#overloadedError();
  }

  /**
   * A client that ignores `Retry-After` waits for its rejection. Otherwise 3,000 such clients would occupy the process
   * with rejections.
   */
  async delayRejection(signal: () => AbortSignal | undefined): Promise<void> {
    const now = this.#clock.now();
    if (Math.abs(now - this.#secondBegan) >= SECOND_MS) {
      this.#secondBegan = now;
      this.#refusedInSecond = 0;
    }
    this.#refusedInSecond += 1;
    if (this.#refusedInSecond <= MAX_IMMEDIATE_REJECTIONS) return;
    // Spread over a second, so that callers do not return together.
    await sleep(this.#clock, SECOND_MS + (this.#refusedInSecond % SECOND_MS), signal()).done;
  }

  #tooManyError(most: string): ParleyError {
    this.#recordRejection();
    return new ParleyError(
      'too_many_in_flight',
      `This key has ${most} in flight, which is as much as it may. Send the same again after Retry-After.`,
      { retryable: true, details: { retryAfterSeconds: RETRY_AFTER_SECONDS } },
    );
  }

  #overloadedError(): ParleyError {
    this.#recordRejection();
    return new ParleyError(
      'overloaded',
      'More is asked of this server than it can do at once. Send the same again after Retry-After.',
      { details: { retryAfterSeconds: RETRY_AFTER_SECONDS } },
    );
  }

  #recordRejection(): void {
    this.#rejected += 1;
    const now = this.#clock.now();
    if (now - this.#loggedAt < LOG_MS) return;
    const { requests, bytes } = this.#all;
    this.#log('warn', 'overload: requests rejected', { refused: this.#rejected, inFlight: requests, bytes });
    this.#rejected = 0;
    this.#loggedAt = now;
  }
}

/** A body without a declared length counts as the maximum. */
const getDeclaredBytes = ({ headers }: HttpRequest, limit: number): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : limit;

interface Usage {
  requests: number;
  bytes: number;
}

/** Uses no capacity while the request waits. */
class InFlightSlot {
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
