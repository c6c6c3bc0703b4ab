import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createRouteFinder, getPort } from '../cloudformation-runner/index.ts';

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect']);

/** One address for the URLs of all functions. */
export const startFront = async (endpoint: string, routes: Record<string, string>, port: number, host: string) => {
  const find = createRouteFinder(Object.keys(routes).map((key) => ({ key, functionName: key, timeoutMs: 0 })));
  const agent = new Agent({ keepAlive: true });
  const ask = async (incoming: IncomingMessage): Promise<IncomingMessage> => {
    const { method = 'GET', url = '/' } = incoming;
    const { pathname, search } = new URL(url, 'http://front');
    const functionUrl = routes[find(method, pathname)?.route.key ?? '$default'] ?? '';
    // The names of function URLs need a DNS that answers with loopback addresses, so only the header has them.
    const headers = { ...pickHeaders(incoming.headers), host: new URL(functionUrl).host };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = request(new URL(encodeAgain(pathname) + search, endpoint), { agent, method, headers }, resolve);
    // An answer may come before all of the request was sent.
    pipeline(incoming, outgoing).catch(reject);
    return promise;
  };
  const server = createServer(async (incoming, outgoing) => {
    try {
      const response = await ask(incoming);
      outgoing.writeHead(response.statusCode ?? 502, pickHeaders(response.headers));
      await pipeline(response, outgoing);
    } catch (error) {
      if (outgoing.headersSent) {
        outgoing.destroy();
        return;
      }
      outgoing.writeHead(502, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ message: `The function did not answer: ${error}` }));
    }
  });
  const bound = await getPort(server, port, host);
  const close = (): void => {
    server.close();
    agent.destroy();
  };
  return { address: `http://${host}:${bound}`, close };
};

/** LocalStack decodes a path before the function does; Lambda does not. */
const encodeAgain = (path: string): string => path.replaceAll('%', '%25');

const pickHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
