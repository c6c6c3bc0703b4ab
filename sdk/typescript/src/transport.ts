import { Emitter } from './emitter.ts';
import { ConnectionError, ParleyError } from './errors.ts';
import type { JsonObject } from './json.ts';

export interface TransportOptions {
  url: string;
  key: string;
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every call. */
  headers?: Record<string, string> | undefined;
  /** For how long a call is repeated that got no usable answer. */
  retryForMs: number;
  onRetry?: ((retry: RetryNotice) => void) | undefined;
}

export interface RetryNotice {
  method: string;
  path: string;
  attempt: number;
  delayMs: number;
  error: Error;
}

/** What the connection goes through; its calls are repeated meanwhile. */
export interface ConnectionEvents {
  /** Parley cannot be reached, or gives no usable answer. */
  offline: { error: Error };
  online: { afterMs: number };
  /** The key is wrong, expired or revoked. */
  rejected: { error: ParleyError };
  /** The clock of this machine is seconds from the server's; leases are counted by the server's. */
  skewed: { offsetMs: number };
}

export interface CallOptions {
  query?: Record<string, string | number | boolean | undefined> | undefined;
  body?: unknown;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  /** How long the server may take to answer on purpose. */
  waitMs?: number | undefined;
  retryForMs?: number | undefined;
}

/** An answer that does not come in this time is taken for lost. */
const ANSWER_MS = 30_000;
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5000;
/** `Date` has whole seconds, and an answer may be on its way for a while. */
const SKEW_MS = 5000;

/**
 * One deployment and one key. Every call of Parley can be repeated with the same ids, so each is repeated until it has an
 * answer: after connection errors, `429` and `5xx`, as long as `Retry-After` says or with growing random delays.
 */
export class Transport extends Emitter<ConnectionEvents> {
  readonly url: string;
  readonly #options: TransportOptions;
  readonly #fetch: typeof globalThis.fetch;
  readonly #headers: Record<string, string>;
  /** How far the clock of the server is ahead, in milliseconds, as its last answer said. */
  clockOffsetMs = 0;
  #isSkewed = false;
  #offlineSince: number | undefined;

  constructor(options: TransportOptions) {
    super();
    this.url = options.url.replace(/\/+$/, '');
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#headers = { ...options.headers, authorization: `Bearer ${options.key}` };
  }

  /** The answer as JSON. */
  async call<T = JsonObject>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    return this.#repeat(method, path, options, async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : JSON.parse(text)) as T;
    });
  }

  /** The bytes of the answer. */
  async download(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#repeat('GET', path, options, async (response) => new Uint8Array(await response.arrayBuffer()));
  }

  /** The response itself, for whoever reads its body as it comes; its status is below 400. */
  open(path: string, options: CallOptions = {}): Promise<Response> {
    return this.#repeat('GET', path, options, (response) => response);
  }

  async #repeat<T>(
    method: string,
    path: string,
    options: CallOptions,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    const url = this.url + path + formatQuery(options.query);
    const [body, type] = encodeBody(options.body);
    const headers = { ...this.#headers, ...(type && { 'content-type': type }), ...options.headers };
    const until = Date.now() + (options.retryForMs ?? this.#options.retryForMs);
    for (let attempt = 1; ; attempt++) {
      options.signal?.throwIfAborted();
      const done = await this.#try(url, { method, headers, body: body ?? null }, options, read);
      if ('value' in done) return done.value;
      const { error, retryAfterMs } = done;
      const delayMs =
        retryAfterMs ?? Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + Math.random());
      if (Date.now() + delayMs > until) throw error;
      this.#options.onRetry?.({ method, path, attempt, delayMs, error });
      await sleep(delayMs, options.signal);
    }
  }

  /** An answer whose body is cut counts as none. */
  async #try<T>(
    url: string,
    init: RequestInit,
    { signal, waitMs = 0 }: CallOptions,
    read: (response: Response) => T | Promise<T>,
  ): Promise<{ value: T } | Failure> {
    const call = new AbortController();
    const stop = (): void => call.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    const limitMs = ANSWER_MS + waitMs;
    const tooLong = new Error(`no answer within ${limitMs / 1000} s`);
    const timer = setTimeout(() => call.abort(tooLong), limitMs);
    let isStream = false;
    try {
      const response = await this.#fetch(url, { ...init, signal: call.signal });
      this.#readClock(response);
      if (!response.ok) return await this.#readFailure(response);
      const value = await read(response);
      isStream = (value as unknown) === response;
      this.#comeOnline();
      return { value };
    } catch (error) {
      if (error instanceof ParleyError || error instanceof SyntaxError) throw error;
      signal?.throwIfAborted();
      const failed = new ConnectionError(`${this.url} cannot be reached: ${describe(error)}`, error);
      this.#goOffline(failed);
      return { error: failed };
    } finally {
      clearTimeout(timer);
      if (!isStream) signal?.removeEventListener('abort', stop);
    }
  }

  async #readFailure(response: Response): Promise<Failure> {
    const error = new ParleyError(response.status, await readProblem(response));
    if (response.status === 401) this.emit('rejected', { error });
    if (!isPassing(error)) {
      this.#comeOnline();
      throw error;
    }
    if (response.status >= 502) this.#goOffline(error);
    return { error, retryAfterMs: parseRetryAfter(response) };
  }

  #readClock({ headers }: Response): void {
    const date = headers.get('date');
    if (!date) return;
    this.clockOffsetMs = Date.parse(date) - Date.now();
    const isSkewed = Math.abs(this.clockOffsetMs) > SKEW_MS;
    if (isSkewed && !this.#isSkewed) this.emit('skewed', { offsetMs: this.clockOffsetMs });
    this.#isSkewed = isSkewed;
  }

  #goOffline(error: Error): void {
    if (this.#offlineSince !== undefined) return;
    this.#offlineSince = performance.now();
    this.emit('offline', { error });
  }

  #comeOnline(): void {
    if (this.#offlineSince === undefined) return;
    const afterMs = performance.now() - this.#offlineSince;
    this.#offlineSince = undefined;
    this.emit('online', { afterMs });
  }
}

/** Whether the same call can succeed later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ParleyError &&
    (error.retryable || error.status === 408 || error.status === 429 || error.status >= 500));

/** Bytes travel as they are, anything else as JSON. */
const encodeBody = (body: unknown): [string | Uint8Array<ArrayBuffer> | undefined, string | undefined] => {
  if (body === undefined) return [undefined, undefined];
  if (body instanceof Uint8Array) return [body as Uint8Array<ArrayBuffer>, 'application/octet-stream'];
  return [JSON.stringify(body), 'application/json'];
};

interface Failure {
  error: Error;
  retryAfterMs?: number | undefined;
}

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
};

const readProblem = async (response: Response): Promise<JsonObject> => {
  const text = await response.text().catch(() => '');
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 500) || response.statusText };
  }
};

const parseRetryAfter = ({ headers }: Response): number | undefined => {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  // Those who were rejected together must not come back together.
  return Number.isFinite(seconds) ? seconds * 1000 + Math.random() * 250 : undefined;
};

const formatQuery = (query: CallOptions['query'] = {}): string => {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  return pairs.length === 0
    ? ''
    : `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)]))}`;
};

export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
