import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { RunningRelay } from './relay.ts';

export interface StatusServer {
  port: number;
  close(): void;
}

export const serveStatus = async (
  host: string,
  port: number,
  relay: () => RunningRelay | undefined,
): Promise<StatusServer> => {
  const server = createServer((request, response) => {
    // An unhandled rejection would end the process.
    handleStatusRequest(relay(), request, response).catch((error) =>
      sendJson(response, 500, { status: String(error) }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

const handleStatusRequest = async (
  relay: RunningRelay | undefined,
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const [path, query] = url.split('?');
  if (path === '/healthz') return sendJson(response, 200, { status: 'ok' });
  if (path === '/readyz') {
    const isReady = (await relay?.isReady()) ?? false;
    return sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready' });
  }
  if (path !== '/metrics') return sendJson(response, 404, { status: 'there are /healthz, /readyz and /metrics' });
  if (!relay) return sendJson(response, 503, { status: 'not ready' });
  const gauges = await relay.getGauges();
  const wantsJson = new URLSearchParams(query).get('format') === 'json' || headers.accept?.includes('application/json');
  if (wantsJson) return sendJson(response, 200, relay.metrics.toJson(gauges));
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(relay.metrics.toPrometheus(gauges));
};

const sendJson = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
