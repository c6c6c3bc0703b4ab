import { signal } from '@preact/signals';
import { BASE } from './base.ts';
import { Problem } from './problem.ts';

const STORED = 'parley-key';

/** Kept in the tab: closing it signs out. */
export const key = signal<string | undefined>(sessionStorage.getItem(STORED) ?? undefined);

const OWN = 'parley-key-of-tab';
/** Made for this tab by the link of `npm start`: signing out removes it. */
export const isOwnKey = (): boolean => sessionStorage.getItem(OWN) !== null;

export const setKey = (next: string | undefined, isOwn = false): void => {
  if (isOwn) sessionStorage.setItem(OWN, '');
  else sessionStorage.removeItem(OWN);
  if (next === undefined) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, next);
  key.value = next;
};

/** Whether the server answers at all. */
export const isGone = signal(false);
/** Rises when it is back, so that whoever shows something loads it again. */
export const returns = signal(0);

type Query = Record<string, string | number | boolean | undefined>;

export interface CallOptions {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  key?: string;
  headers?: Record<string, string>;
}

export const toQuery = (query: Query): string => {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') params.set(name, String(value));
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
};

export const callRaw = async (method: string, path: string, options: CallOptions = {}): Promise<Response> => {
  const { query = {}, body, signal: abort, headers = {} } = options;
  const secret = options.key ?? key.peek();
  let response: Response;
  try {
    response = await fetch(`${BASE}${path.replace(/^\//, '')}${toQuery(query)}`, {
      method,
      headers: {
        ...headers,
        ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(abort && { signal: abort }),
      cache: 'no-store',
    });
  } catch (error) {
    if (abort?.aborted) throw new Problem(0, { code: 'aborted' });
    markGone();
    throw new Problem(0, { code: 'gone', detail: `Parley does not answer: ${String(error)}` });
  }
  // A proxy speaks for a server that is gone.
  if (response.status === 502 || response.status === 504) markGone();
  else markBack();
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (response.status === 401 && options.key === undefined && key.peek() === secret) endedKey.value = problem.message;
  throw problem;
};

/** Why the key of this tab is not taken any more. */
export const endedKey = signal<string | undefined>(undefined);

export const call = async <T>(method: string, path: string, options: CallOptions = {}): Promise<T> => {
  const response = await callRaw(method, path, options);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
};

export const get = <T>(path: string, query: Query = {}, abort?: AbortSignal): Promise<T> =>
  call<T>('GET', path, { query, ...(abort && { signal: abort }) });

export const markBack = (): void => {
  if (!isGone.peek()) return;
  isGone.value = false;
  returns.value++;
};

const PROBE_MS = 1000;
let _probing: ReturnType<typeof setTimeout> | undefined;

export const markGone = (): void => {
  isGone.value = true;
  _probing ??= setTimeout(async () => {
    _probing = undefined;
    const answer = await fetch(`${BASE}healthz`, { cache: 'no-store' }).catch(() => undefined);
    if (answer?.ok) markBack();
    else markGone();
  }, PROBE_MS);
};
