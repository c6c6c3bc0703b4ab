import { createServer, type ServerResponse } from 'node:http';
import type { Relay } from './relay.ts';

export interface StatusServer {
  port: number;
  close(): void;
}

/** `/healthz`, `/readyz` and `/metrics`, for whoever runs the relay. */
export const serveStatus = async (
  host: string,
  port: number,
  relay: () => Relay | undefined,
): Promise<StatusServer> => {
  const server = createServer(async ({ url = '', headers }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://relay');
    const now = relay();
    if (pathname === '/healthz') return say(response, 200, { status: 'ok' });
    if (pathname === '/readyz') {
      const isReady = now?.isReady() ?? false;
      return say(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready' });
    }
    if (pathname !== '/metrics') return say(response, 404, { status: 'there are /healthz, /readyz and /metrics' });
    if (!now) return say(response, 503, { status: 'not ready' });
    const gauges = await now.gauges();
    const wantsJson = searchParams.get('format') === 'json' || headers.accept?.includes('application/json');
    if (wantsJson) return say(response, 200, now.metrics.json(gauges));
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(now.metrics.prometheus(gauges));
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

const say = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
