import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { getPort } from './listen.ts';
import type { ApiResponse } from './payload-v2.ts';

/** The limit of API Gateway. */
const MOST_BYTES = 10 * 1024 * 1024;

export type ApiAnswer = (incoming: IncomingMessage, body: Buffer) => Promise<ApiResponse>;

export interface ApiServer {
  address: string;
  port: number;
  /** Requests that arrived before `open` have waited. */
  open(answer: ApiAnswer): void;
  close(): Promise<void>;
}

export const buildMessage = (status: number, text: string): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ message: text })),
});

const CLOSE_WITHIN_MS = 2000;

export const startApiServer = async (port: number, host: string): Promise<ApiServer> => {
  const { promise: opened, resolve: open } = Promise.withResolvers<ApiAnswer>();
  let isClosing = false;
  const server = createServer(async (incoming, outgoing) => {
    outgoing.on('finish', () => isClosing && setImmediate(() => server.closeIdleConnections()));
    try {
      const body = await readRequestBody(incoming);
      send(
        outgoing,
        body ? await (await opened)(incoming, body) : buildMessage(413, 'Request Entity Too Large'),
        !body,
      );
    } catch {
      outgoing.destroy();
    }
  });
  server.keepAliveTimeout = 65_000;
  const taken = await getPort(server, port, host);
  return {
    port: taken,
    address: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    open,
    close: () => {
      isClosing = true;
      return new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
};

const readRequestBody = (incoming: IncomingMessage): Promise<Buffer | undefined> => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) resolve(undefined);
    else chunks.push(chunk);
  });
  incoming.on('end', () => resolve(Buffer.concat(chunks)));
  incoming.on('error', reject);
  return promise;
};

const WITHOUT_BODY = [204, 304];

const send = (outgoing: ServerResponse, { status, headers, body }: ApiResponse, isLast: boolean): void => {
  const own = Object.entries(headers).filter(
    ([name]) => !['content-length', 'transfer-encoding', 'connection'].includes(name),
  );
  const length = WITHOUT_BODY.includes(status) ? {} : { 'content-length': body.length };
  outgoing.writeHead(status, { ...Object.fromEntries(own), ...length, ...(isLast && { connection: 'close' }) });
  outgoing.end(WITHOUT_BODY.includes(status) ? undefined : body);
};
