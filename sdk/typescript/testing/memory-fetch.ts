import { setImmediate as nextTurn } from 'node:timers/promises';
import { createBodyReader } from '../../../shared/http/read-body.ts';
import type { HttpHandler } from '../../../shared/http/router.ts';

const NO_BODY = new Set([204, 304]);

/** Calls of `fetch` that are answered in this process. */
export const createMemoryFetch =
  (handle: HttpHandler, now: () => number): typeof globalThis.fetch =>
  async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const signal = init.signal ?? undefined;
    signal?.throwIfAborted();
    // As over a network: others have their turn meanwhile.
    await nextTurn();
    const response = handle({
      method: init.method ?? 'GET',
      path: url.pathname,
      query: url.search.slice(1),
      headers: Object.fromEntries(new Headers(init.headers)),
      readBody: createBodyReader(toBytes(init.body)),
      ...(signal && { signal }),
    });
    const { status, headers, body } = await (signal ? Promise.race([response, whenAborted(signal)]) : response);
    const sent = NO_BODY.has(status) ? null : isStream(body) ? toStream(body, signal) : body;
    const date = new Date(now()).toUTCString();
    return new Response(sent as string | ReadableStream<Uint8Array> | null, { status, headers: { date, ...headers } });
  };

const toBytes = (body: unknown): Uint8Array => (body instanceof Uint8Array ? body : Buffer.from(String(body ?? '')));

const isStream = (body: string | Uint8Array | AsyncIterable<string>): body is AsyncIterable<string> =>
  typeof body === 'object' && Symbol.asyncIterator in body;

const whenAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

const toStream = (pieces: AsyncIterable<string>, signal: AbortSignal | undefined): ReadableStream<Uint8Array> => {
  const reader = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      signal?.addEventListener('abort', () => controller.error(signal.reason), { once: true });
    },
    async pull(controller) {
      const { done, value } = await reader.next();
      if (signal?.aborted) return;
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await reader.return?.();
    },
  });
};
