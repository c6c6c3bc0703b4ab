import { createServer, type IncomingMessage } from 'node:http';
import { createRouteFinder, getPort } from '../cloudformation-runner/index.ts';

const HOP_BY_HOP = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect']);

export const startFront = async (routes: Record<string, string>, port: number, host: string) => {
  const find = createRouteFinder(Object.keys(routes).map((key) => ({ key, functionName: key, timeoutMs: 0 })));
  const server = createServer(async (incoming, outgoing) => {
    try {
      const { method = 'GET', url = '/' } = incoming;
      const key = find(method, new URL(url, 'http://front').pathname)?.route.key ?? '$default';
      const body = await incoming.toArray();
      const response = await fetch(new URL(url, routes[key]), {
        method,
        headers: pickHeaders(incoming),
        body: body.length > 0 ? Buffer.concat(body) : undefined,
      });
      const headers = [...response.headers].filter(([name]) => !HOP_BY_HOP.has(name) && name !== 'content-encoding');
      outgoing.writeHead(response.status, Object.fromEntries(headers));
      outgoing.end(Buffer.from(await response.arrayBuffer()));
    } catch (error) {
      outgoing.writeHead(502, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ message: `The function did not answer: ${error}` }));
    }
  });
  const bound = await getPort(server, port, host);
  return { address: `http://${host}:${bound}`, close: () => server.close() };
};

const pickHeaders = ({ headers }: IncomingMessage): [string, string][] =>
  Object.entries(headers).flatMap(([name, value]) =>
    HOP_BY_HOP.has(name) || value === undefined ? [] : [[name, String(value)]],
  );
