import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpResponse } from '../shared/http/http-message.ts';
import type { Handle } from '../shared/http/router.ts';

export interface RunningServer {
  port: number;
  /** Ends the waits of all callers, answers what is under way, and closes. */
  close(): Promise<void>;
}

/** Serves the handler over plain HTTP. */
export const serve = async (handle: Handle, port: number, host: string, bodyLimit: number): Promise<RunningServer> => {
  const waiting: Waitings = { all: new Set(), isStopping: false };
  const server = createServer((incoming, outgoing) => {
    // A connection that was busy when the server stopped is idle only now.
    outgoing.on('finish', () => waiting.isStopping && setImmediate(() => server.closeIdleConnections()));
    answer(handle, incoming, outgoing, waiting, bodyLimit).catch(() => outgoing.destroy());
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
  const { url = '/', method = 'GET' } = incoming;
  const mark = url.indexOf('?');
  const wait = new Waiting(outgoing, waiting);
  const response = await handle({
    method,
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    headers: headersOf(incoming),
    body,
    // Most requests wait for nothing, and a signal costs more than all else here.
    get signal() {
      return wait.signal();
    },
  });
  try {
    await send(outgoing, response);
  } finally {
    wait.end();
  }
};

/** Where it is too large, the rest of it is not kept. */
const readAll = (incoming: IncomingMessage, limit: number): Promise<Buffer | 'too large'> => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | 'too large'>();
  if (Number(incoming.headers['content-length'] ?? 0) > limit) resolve('too large');
  const chunks: Buffer[] = [];
  let bytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limit) resolve('too large');
    else chunks.push(chunk);
  });
  incoming.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  incoming.on('error', reject);
  return promise;
};

interface Waitings {
  all: Set<Waiting>;
  isStopping: boolean;
}

/** Tells a request that waits when the caller has hung up or the server stops, so that nothing waits for nobody. */
class Waiting {
  readonly #outgoing: ServerResponse;
  readonly #others: Waitings;
  #gone: AbortController | undefined;

  constructor(outgoing: ServerResponse, others: Waitings) {
    this.#outgoing = outgoing;
    this.#others = others;
  }

  signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      this.#others.all.add(this);
      this.#outgoing.on('close', this.abort);
      if (this.#outgoing.destroyed || this.#others.isStopping) this.abort();
    }
    return this.#gone.signal;
  }

  readonly abort = (): void => this.#gone?.abort();

  end(): void {
    this.#others.all.delete(this);
    this.#outgoing.off('close', this.abort);
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
