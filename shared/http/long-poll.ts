import { type Caller, revalidateCaller } from '../identity/auth/authenticate.ts';
import { parsePresentedKey } from '../identity/auth/presented-key.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import type { Collector, MetricRegistry } from '../kernel/metric-registry.ts';
import type { HttpRequest } from './http-message.ts';

const WAIT_KINDS = ['streams', 'waits'] as const;
type WaitKind = (typeof WAIT_KINDS)[number];

/** How many calls of each key wait in this process. */
export type WaitCounts = Map<string, number>;

/** How many calls of a project wait now. */
export const createWaitCollector =
  (metrics: MetricRegistry, counts: WaitCounts): Collector =>
  async (project) => {
    const open = [...counts].filter(([name]) => WAIT_KINDS.some((kind) => name.startsWith(`${kind}/${project}/`)));
    metrics.record(
      'open_waits',
      open.reduce((sum, [, count]) => sum + count, 0),
      { project },
    );
  };

const WAIT_LABELS = { streams: 'streams', waits: 'waiting calls' } as const;
/** A wait is over within 25 s, and the first of many much sooner; a stream may last for ever. */
const RETRY_AFTER_SECONDS = { streams: 5, waits: 1 } as const;

/** The wait of one call, if it does: as many as its key may have, and no longer than the key is valid. */
export class LongPoll {
  readonly #deps: Deps;
  readonly #counts: WaitCounts;
  readonly #request: HttpRequest;
  /** Made when it is needed: it is the costliest part of a call that does not wait. */
  #controller: AbortController | undefined;
  #release: (() => void) | undefined;
  #isHandedOver = false;

  constructor(deps: Deps, counts: WaitCounts, request: HttpRequest) {
    this.#deps = deps;
    this.#counts = counts;
    this.#request = request;
  }

  /** What ends a wait early; a call that does not wait needs none. Asked for before anything is done, for it may be refused. */
  startWait(waitMs: number): AbortSignal | undefined {
    return waitMs > 0 ? this.#start('waits') : undefined;
  }

  get hasWaited(): boolean {
    return this.#release !== undefined;
  }

  /** What ends a stream. */
  startStream(): AbortSignal {
    return this.#start('streams');
  }

  /** What was taken for the caller while its key was valid is answered: nobody else would get it. */
  handOver(): void {
    this.#isHandedOver = true;
  }

  /** Whatever was found for a key that has ended meanwhile is not handed to who holds it. */
  assertKeyValid(): void {
    const reason: unknown = this.#controller?.signal.reason;
    if (!this.#isHandedOver && reason instanceof ParleyError) throw reason;
  }

  /** Whether the key is still valid, also of a call that does not wait. Where it is not, whatever was found is refused. */
  async isValid(caller: Caller): Promise<boolean> {
    const isValid =
      !(this.#controller?.signal.reason instanceof ParleyError) &&
      (await revalidateCaller(this.#deps, caller)) !== undefined;
    if (!isValid) this.#ended.abort(keyEndedError());
    return isValid;
  }

  /** A stream that has begun can only end. */
  async *streamUntilEnd(stream: AsyncIterable<string>): AsyncGenerator<string> {
    try {
      for await (const piece of stream) {
        if (this.#ended.signal.aborted) return;
        yield piece;
      }
    } catch (error) {
      if (error !== this.#ended.signal.reason) throw error;
    } finally {
      this.end();
    }
  }

  get #ended(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }

  end(): void {
    this.#release?.();
    this.#release = undefined;
  }

  #start(kind: WaitKind): AbortSignal {
    if (this.#release) return this.#ended.signal;
    const key = parsePresentedKey(this.#request.headers.authorization);
    if (!key || key === 'malformed') throw new Error('a call without a key cannot wait');
    const { project, owner, keyHash } = key;
    const leaveCount = this.#acquire(kind, `${kind}/${project}/${owner}`);
    const end = (): void => this.#ended.abort(keyEndedError());
    const giveUp = this.#deps.directory.watchKey(project, owner, keyHash, end);
    const gone = this.#request.signal;
    const onDisconnect = (): void => {
      this.#ended.abort();
      this.end();
    };
    const release = (): void => {
      leaveCount();
      giveUp();
      gone?.removeEventListener('abort', onDisconnect);
    };
    this.#release = release;
    if (gone?.aborted) onDisconnect();
    else gone?.addEventListener('abort', onDisconnect);
    return this.#ended.signal;
  }

  #acquire(kind: WaitKind, name: string): () => void {
    const limit = this.#deps.config.limits[`${kind}PerKey`];
    const count = this.#counts.get(name) ?? 0;
    if (count >= limit) throw tooManyWaitsError(kind, limit);
    this.#counts.set(name, count + 1);
    return () => {
      const left = (this.#counts.get(name) ?? 0) - 1;
      if (left > 0) this.#counts.set(name, left);
      else this.#counts.delete(name);
    };
  }
}

const keyEndedError = (): ParleyError =>
  new ParleyError(
    'unauthorized',
    'The key ended while the call was under way: it was replaced, or its agent removed. Call again with a valid one.',
  );

const tooManyWaitsError = (kind: WaitKind, limit: number): ParleyError =>
  new ParleyError(
    'too_many_waits',
    `The key has ${limit} ${WAIT_LABELS[kind]} open, which is as many as it may. Close one, or come again when one has ended.`,
    { retryable: true, details: { limit, retryAfterSeconds: RETRY_AFTER_SECONDS[kind] } },
  );
