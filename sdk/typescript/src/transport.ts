import { Emitter } from './emitter.ts';
import { ConnectionError, ParleyError } from './errors.ts';
import type { JsonObject } from './json.ts';
import { type Answer, type Ask, createNodeAsk } from './node-http.ts';
import type { SignCall } from './sign-calls.ts';
import { WaitSlots } from './wait-slots.ts';

export interface TransportOptions {
  url: string;
  key: string;
  fetch?: typeof globalThis.fetch | undefined;
  /** Sent with every call. */
  headers?: Record<string, string> | undefined;
  /** For how long a call is repeated that got no usable answer. */
  retryForMs: number;
  onRetry?: ((retry: RetryNotice) => void) | undefined;
  signCall?: SignCall | undefined;
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
const JSON_TYPE = { 'content-type': 'application/json' };

/**
 * One deployment and one key. Every call of Parley can be repeated with the same ids, so each is repeated until it has an
 * answer: after connection errors, `429` and `5xx`, as long as `Retry-After` says or with growing random delays.
 */
export class Transport extends Emitter<ConnectionEvents> {
  readonly url: string;
  /** For those who wait for results. */
  readonly slots = new WaitSlots();
  readonly #options: TransportOptions;
  readonly #fetch: typeof globalThis.fetch;
  /** Faster than `fetch`, where there is one. */
  readonly #ask: Ask | undefined;
  readonly #headers: Record<string, string>;
  /** How far the clock of the server is ahead, in milliseconds, as its last answer said. */
  clockOffsetMs = 0;
  #lastDate = '';
  #isSkewed = false;
  #offlineSince: number | undefined;

  constructor(options: TransportOptions) {
    super();
    this.url = options.url.replace(/\/+$/, '');
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#ask = options.fetch ? undefined : createNodeAsk(this.url);
    this.#headers = { ...options.headers, authorization: `Bearer ${options.key}` };
  }

  /** The answer as JSON. */
  async call<T = JsonObject>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const parse = (text: string): T => (text === '' ? undefined : JSON.parse(text)) as T;
    if (options.body instanceof Uint8Array || !this.#ask) {
      return this.#repeat(method, path, options, async (response) => parse(await response.text()));
    }
    const ask = this.#ask;
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const headers = { ...this.#headers, ...(body !== undefined && JSON_TYPE), ...options.headers };
    const question = { method, url: this.url + path + formatQuery(options.query), headers, body };
    const timeoutMs = ANSWER_MS + (options.waitMs ?? 0);
    return this.#repeatUntilAnswered(method, path, options, async () => {
      const signed = await this.#sign(method, path, headers, options.body);
      const answer = await ask({ ...question, ...signed, signal: options.signal, timeoutMs });
      this.#readClock(answer.header('date'));
      if (answer.status >= 400) return this.#readFailure(answer);
      const value = parse(answer.text);
      this.#comeOnline();
      return { value };
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
    const init = { method, headers, body: body ?? null };
    return this.#repeatUntilAnswered(method, path, options, async () => {
      const signed = await this.#sign(method, path, headers, options.body);
      return this.#fetchOnce(url, { ...init, ...signed }, options, read);
    });
  }

  /** What is only read needs no signature. */
  async #sign(method: string, path: string, headers: Record<string, string>, body: unknown) {
    const { signCall } = this.#options;
    if (!signCall || method === 'GET') return undefined;
    const now = Date.now() + this.clockOffsetMs;
    return { headers: { ...headers, ...(await signCall({ method, path, headers, body, now })) } };
  }

  /** An answer whose body is cut counts as none. */
  async #repeatUntilAnswered<T>(
    method: string,
    path: string,
    { signal, retryForMs = this.#options.retryForMs }: CallOptions,
    call: () => Promise<{ value: T } | Failure>,
  ): Promise<T> {
    const until = Date.now() + retryForMs;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      const done = await this.#try(call, signal);
      if ('value' in done) return done.value;
      const { error, retryAfterMs } = done;
      const delayMs =
        retryAfterMs ?? Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + Math.random());
      if (Date.now() + delayMs > until) throw error;
      this.#options.onRetry?.({ method, path, attempt, delayMs, error });
      await sleep(delayMs, signal);
    }
  }

  async #try<T>(call: () => Promise<{ value: T } | Failure>, signal: AbortSignal | undefined) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof ParleyError || error instanceof SyntaxError) throw error;
      signal?.throwIfAborted();
      const failed = new ConnectionError(`${this.url} cannot be reached: ${describe(error)}`, error);
      this.#goOffline(failed);
      return { error: failed } satisfies Failure;
    }
  }

  async #fetchOnce<T>(
    url: string,
    init: RequestInit,
    { signal, waitMs = 0 }: CallOptions,
    read: (response: Response) => T | Promise<T>,
  ): Promise<{ value: T } | Failure> {
    const call = new AbortController();
    const stop = (): void => call.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    const limitMs = ANSWER_MS + waitMs;
    const timer = setTimeout(() => call.abort(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
    let isStream = false;
    try {
      const response = await this.#fetch(url, { ...init, signal: call.signal });
      const header = (name: string): string | undefined => response.headers.get(name) ?? undefined;
      this.#readClock(header('date'));
      if (!response.ok) {
        return this.#readFailure({ status: response.status, header, text: await response.text().catch(() => '') });
      }
      const value = await read(response);
      isStream = (value as unknown) === response;
      this.#comeOnline();
      return { value };
    } finally {
      clearTimeout(timer);
      if (!isStream) signal?.removeEventListener('abort', stop);
    }
  }

  #readFailure(answer: Answer): Failure {
    const error = new ParleyError(answer.status, parseProblem(answer));
    if (answer.status === 401) this.emit('rejected', { error });
    if (!isPassing(error)) {
      this.#comeOnline();
      throw error;
    }
    if (answer.status >= 502) this.#goOffline(error);
    return { error, retryAfterMs: parseRetryAfter(answer.header('retry-after')) };
  }

  #readClock(date: string | undefined): void {
    if (!date || date === this.#lastDate) return;
    this.#lastDate = date;
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

const parseProblem = ({ status, text }: Answer): JsonObject => {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 500) || `Parley answered ${status}.` };
  }
};

const parseRetryAfter = (value: string | undefined): number | undefined => {
  const seconds = Number(value ?? Number.NaN);
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
