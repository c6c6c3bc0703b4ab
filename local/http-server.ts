import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpRequest, HttpResponse } from '../shared/http/http-message.ts';
import type { HttpHandler } from '../shared/http/router.ts';
import type { Log } from '../shared/kernel/log.ts';
import { ConnectionQueues } from './connection-queues.ts';
import { FairTurns } from './fair-turns.ts';
import { handleParserErrors, isMissingHost, rejectMissingHost } from './handle-parser-errors.ts';
import { discardBody, hasUnreadBody, isExpectingContinue, readBody } from './request-body.ts';
import { cutOffUnread, PIECE_BYTES, writeAll } from './response-body.ts';

interface RunningServer {
  port: number;
  setMaxConnections(count: number): void;
  /** Aborts long polls, finishes requests in flight, then closes. */
  close(): Promise<void>;
}

/** Headers fit into two packets. 4 MB in a minute are half a megabit per second. */
const HEADERS_MS = 15_000;
const REQUEST_MS = 60_000;
const CHECK_MS = 5000;
const LOG_MS = 60_000;
/** Linux's default limit. Of 3,000 simultaneous connections, those beyond Node's 511 retry after a second or more. */
const BACKLOG = 4096;
const HEALTH_PATH = '/healthz';
/** A response needs less, and an event reader reconnects with its last event id. */
const UNREAD_MS = 30_000;

export const startHttpServer = async (
  handle: HttpHandler,
  port: number,
  host: string,
  log: Log = () => {},
  maxConnections?: number,
  unreadMs = UNREAD_MS,
): Promise<RunningServer> => {
  const waiting: OpenWaits = { all: new Set(), isStopping: false };
  const turns = new FairTurns();
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (isMissingHost(incoming)) {
      rejectMissingHost(outgoing);
      return;
    }
    const begin = (): void => {
      if (!incoming.socket.destroyed) handleRequest(handle, incoming, outgoing, waiting, log);
    };
    // Whoever asks whether the server lives does not wait for those who flood it.
    if (incoming.url === HEALTH_PATH) begin();
    else turns.begin(incoming.headers.authorization ?? '', begin);
  };
  // A connection that was busy at the stop becomes idle only now.
  const onServed = (): void => {
    if (waiting.isStopping) setImmediate(() => server.closeIdleConnections());
  };
  const lines = new ConnectionQueues(serve, onServed);
  const times = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS };
  const server = createServer({ requireHostHeader: false, ...times }, lines.enqueue);
  handleParserErrors(server, lines);
  cutOffUnread(server, unreadMs);
  // With `Expect: 100-continue`, the client sends its body only after it is wanted.
  server.on('checkContinue', lines.enqueue);
  // Agents keep their connections between polls.
  server.keepAliveTimeout = 65_000;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  let droppedAt = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    if (performance.now() - droppedAt < LOG_MS) return;
    droppedAt = performance.now();
    log('warn', 'overload: connections rejected', { connections: server.maxConnections });
  });
  await listenOn(server, port, host);
  const address: AddressInfo | string | null = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    setMaxConnections: (count) => {
      server.maxConnections = count;
    },
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

const listenOn = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => resolve());
  });

const handleRequest = async (
  handle: HttpHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  waiting: OpenWaits,
  log: Log,
): Promise<void> => {
  const request = new ServerRequest(incoming, outgoing, waiting);
  try {
    await sendResponse(incoming, outgoing, await handle(request));
  } catch (error) {
    // The client is already gone.
    if (!outgoing.destroyed) log('error', 'response aborted', { path: incoming.url, error: String(error) });
    outgoing.destroy();
  } finally {
    request.end();
  }
};

interface OpenWaits {
  all: Set<AbortController>;
  isStopping: boolean;
}

class ServerRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HttpRequest['headers'];
  readonly source: string | undefined;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #waiting: OpenWaits;
  #wait: { gone: AbortController; hangUp: () => void } | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, waiting: OpenWaits) {
    const { url = '/', method = 'GET' } = incoming;
    const mark = url.indexOf('?');
    this.method = method;
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
    this.headers = joinHeaders(incoming.headers);
    this.source = incoming.socket.remoteAddress;
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#waiting = waiting;
  }

  readBody(limit: number): Promise<Uint8Array> {
    if (isExpectingContinue(this.#incoming)) this.#outgoing.writeContinue();
    return readBody(this.#incoming, limit);
  }

  get signal(): AbortSignal {
    this.#wait ??= this.#startWait();
    return this.#wait.gone.signal;
  }

  #startWait(): { gone: AbortController; hangUp: () => void } {
    const gone = new AbortController();
    const onDisconnect = (): void => gone.abort();
    this.#waiting.all.add(gone);
    this.#outgoing.on('close', onDisconnect);
    if (this.#outgoing.destroyed || this.#waiting.isStopping) onDisconnect();
    return { gone, hangUp: onDisconnect };
  }

  end(): void {
    if (!this.#wait) return;
    this.#waiting.all.delete(this.#wait.gone);
    this.#outgoing.off('close', this.#wait.hangUp);
  }
}

/** Node joins repeated headers itself, except this one. */
const joinHeaders = (headers: IncomingHttpHeaders): HttpRequest['headers'] =>
  hasSingleHeaders(headers) ? headers : { ...headers, 'set-cookie': headers['set-cookie']?.join(', ') };

const hasSingleHeaders = (headers: IncomingHttpHeaders): headers is Record<string, string | undefined> =>
  headers['set-cookie'] === undefined;

const sendResponse = async (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body }: HttpResponse,
): Promise<void> => {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const bytes = Buffer.byteLength(body);
    if (hasUnreadBody(incoming, outgoing)) {
      outgoing.writeHead(status, { ...withLength(headers, status, bytes), connection: 'close' });
      outgoing.write(body);
      await discardBody(incoming);
      outgoing.end();
      return;
    }
    outgoing.writeHead(status, withLength(headers, status, bytes));
    if (bytes <= PIECE_BYTES) {
      outgoing.end(body);
      return;
    }
    await writeAll(outgoing, body);
    outgoing.end();
    return;
  }
  outgoing.writeHead(status, headers);
  for await (const piece of body) {
    if (outgoing.destroyed) return;
    await writeAll(outgoing, piece);
  }
  outgoing.end();
};

const withLength = (headers: HttpResponse['headers'], status: number, bytes: number): OutgoingHttpHeaders =>
  status === 204 ? headers : { ...headers, 'content-length': bytes };
