import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpRequest, HttpResponse } from '../shared/http/http-message.ts';
import type { Handle } from '../shared/http/router.ts';
import type { Log } from '../shared/log.ts';

interface RunningServer {
  port: number;
  /** Ends the waits of all callers, answers what is under way, and closes. */
  close(): Promise<void>;
}

/** Serves the handler over plain HTTP. */
export const serve = async (
  handle: Handle,
  port: number,
  host: string,
  bodyLimit: number,
  log: Log = () => {},
): Promise<RunningServer> => {
  const waiting: Waitings = { all: new Set(), isStopping: false };
  const server = createServer((incoming, outgoing) => {
    // A connection that was busy when the server stopped is idle only now.
    outgoing.on('finish', () => waiting.isStopping && setImmediate(() => server.closeIdleConnections()));
    answer(handle, incoming, outgoing, waiting, bodyLimit).catch((error) => {
      // Of a request that was cut off half-way, there is nobody left to tell.
      if (!outgoing.destroyed) log('error', 'an answer ended half-way', { path: incoming.url, error: String(error) });
      outgoing.destroy();
    });
  });
  // Agents keep their connections between polls.
  server.keepAliveTimeout = 65_000;
  await listening(server, port, host);
  const address: AddressInfo | string | null = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => {
      waiting.isStopping = true;
      for (const wait of waiting.all) wait.abort();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), 2000).unref();
      });
    },
  };
};

const listening = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });

const answer = async (
  handle: Handle,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  waiting: Waitings,
  bodyLimit: number,
): Promise<void> => {
  const body = await readAll(incoming, bodyLimit);
  if (body === 'too large') outgoing.setHeader('connection', 'close');
  const request = new ServerRequest(incoming, body, outgoing, waiting);
  const response = await handle(request);
  try {
    await send(outgoing, response);
  } finally {
    request.end();
  }
};

/** For so long the rest of a body that is too large is listened to: who is cut off while sending reads no answer. */
const REST_MS = 5000;

/** Where it is too large, none of it is kept. */
const readAll = (incoming: IncomingMessage, limit: number): Promise<Buffer | 'too large'> => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | 'too large'>();
  let chunks: Buffer[] = [];
  let bytes = 0;
  let patience: NodeJS.Timeout | undefined;
  const isTooLarge = (): boolean => bytes > limit;
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (!isTooLarge()) {
      chunks.push(chunk);
    } else if (!patience) {
      chunks = [];
      patience = setTimeout(() => resolve('too large'), REST_MS);
    }
  });
  incoming.on('end', () => {
    if (isTooLarge()) resolve('too large');
    else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
  });
  incoming.on('error', reject);
  incoming.on('close', () => clearTimeout(patience));
  return promise;
};

interface Waitings {
  all: Set<AbortController>;
  isStopping: boolean;
}

/** Most requests wait for nothing; one that does is told when its caller has hung up or the server stops. */
class ServerRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HttpRequest['headers'];
  readonly body: HttpRequest['body'];
  readonly #outgoing: ServerResponse;
  readonly #waiting: Waitings;
  #wait: { gone: AbortController; hangUp: () => void } | undefined;

  constructor(incoming: IncomingMessage, body: HttpRequest['body'], outgoing: ServerResponse, waiting: Waitings) {
    const { url = '/', method = 'GET' } = incoming;
    const mark = url.indexOf('?');
    this.method = method;
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
    this.headers = headersOf(incoming);
    this.body = body;
    this.#outgoing = outgoing;
    this.#waiting = waiting;
  }

  get signal(): AbortSignal {
    this.#wait ??= this.#begin();
    return this.#wait.gone.signal;
  }

  #begin(): { gone: AbortController; hangUp: () => void } {
    const gone = new AbortController();
    const hangUp = (): void => gone.abort();
    this.#waiting.all.add(gone);
    this.#outgoing.on('close', hangUp);
    if (this.#outgoing.destroyed || this.#waiting.isStopping) hangUp();
    return { gone, hangUp };
  }

  end(): void {
    if (!this.#wait) return;
    this.#waiting.all.delete(this.#wait.gone);
    this.#outgoing.off('close', this.#wait.hangUp);
  }
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string | undefined> => {
  const single: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
};

const send = async (outgoing: ServerResponse, { status, headers, body }: HttpResponse): Promise<void> => {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const length = status === 204 ? {} : { 'content-length': Buffer.byteLength(body) };
    outgoing.writeHead(status, { ...headers, ...length });
    outgoing.end(body);
    return;
  }
  outgoing.writeHead(status, headers);
  for await (const piece of body) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(piece)) await drained(outgoing);
  }
  outgoing.end();
};

const drained = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done);
      outgoing.off('close', done);
      resolve();
    };
    outgoing.on('drain', done);
    outgoing.on('close', done);
  });
