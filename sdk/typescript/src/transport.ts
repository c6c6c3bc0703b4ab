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

/**
 * One deployment and one key. Every call of Parley can be repeated with the same ids, so each is repeated until it has an
 * answer: after connection errors, `429` and `5xx`, as long as `Retry-After` says or with growing random delays.
 */
export class Transport {
  readonly url: string;
  readonly #options: TransportOptions;
  readonly #fetch: typeof globalThis.fetch;
  readonly #headers: Record<string, string>;
  /** How far the clock of the server is ahead, in milliseconds, as its last answer said. */
  clockOffsetMs = 0;

  constructor(options: TransportOptions) {
    this.url = options.url.replace(/\/+$/, '');
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#headers = { ...options.headers, authorization: `Bearer ${options.key}` };
  }

  async call<T = JsonObject>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.send(method, path, options);
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** The response itself, whatever its body is; its status is below 400. */
  async send(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    const url = this.url + path + formatQuery(options.query);
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const headers = {
      ...this.#headers,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    };
    const until = Date.now() + (options.retryForMs ?? this.#options.retryForMs);
    for (let attempt = 1; ; attempt++) {
      options.signal?.throwIfAborted();
      const failure = await this.#try(url, { method, headers, body: body ?? null }, options);
      if (failure instanceof Response) return failure;
      const { error, retryAfterMs } = failure;
      const delayMs =
        retryAfterMs ?? Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + Math.random());
      if (Date.now() + delayMs > until) throw error;
      this.#options.onRetry?.({ method, path, attempt, delayMs, error });
      await sleep(delayMs, options.signal);
    }
  }

  async #try(url: string, init: RequestInit, { signal, waitMs = 0 }: CallOptions): Promise<Response | Failure> {
    const timeout = AbortSignal.timeout(ANSWER_MS + waitMs);
    try {
      const response = await this.#fetch(url, {
        ...init,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      this.#readClock(response);
      if (response.ok) return response;
      const error = new ParleyError(response.status, await readProblem(response));
      if (response.status !== 429 && response.status < 500) throw error;
      return { error, retryAfterMs: parseRetryAfter(response) };
    } catch (error) {
      if (error instanceof ParleyError) throw error;
      signal?.throwIfAborted();
      return { error: new ConnectionError(`${this.url} cannot be reached: ${describe(error)}`, error) };
    }
  }

  #readClock({ headers }: Response): void {
    const date = headers.get('date');
    if (date) this.clockOffsetMs = Date.parse(date) - Date.now();
  }
}

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
