import { createServer, type IncomingMessage } from 'node:http';
import { getPort } from '../http/listen.ts';
import type { AwsRequest, AwsResponse } from './aws-call.ts';

export const serveGateway = async (
  handle: (request: AwsRequest) => Promise<AwsResponse>,
): Promise<{ address: string; close(): Promise<void> }> => {
  const server = createServer(async (incoming, outgoing) => {
    const hungUp = new AbortController();
    outgoing.on('close', () => hungUp.abort());
    try {
      const request = { ...(await toAwsRequest(incoming)), signal: hungUp.signal };
      const { status, headers, body } = await handle(request);
      outgoing.writeHead(status, { ...headers, 'content-length': getContentLength(incoming, headers, body) });
      outgoing.end(body);
    } catch {
      // Like an unreachable AWS: the SDK retries.
      outgoing.destroy();
    }
  });
  server.keepAliveTimeout = 65_000;
  const port = await getPort(server, 0, '127.0.0.1');
  return {
    address: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const getContentLength = ({ method }: IncomingMessage, headers: Record<string, string>, body: Buffer): string =>
  method === 'HEAD' ? (headers['content-length'] ?? '0') : String(body.length);

const toAwsRequest = async (incoming: IncomingMessage): Promise<AwsRequest> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks),
  };
};
