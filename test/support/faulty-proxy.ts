import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

/** What happens to a call on its way: it passes, its answer is lost or never comes after it took effect, or it is refused. */
export type Fate = 'pass' | 'lose the answer' | 'never answer' | { status: number; error: string; facts?: object };

interface FaultyProxy {
  endpoint: string;
  /** The operations that were asked for, each time. */
  calls: string[];
  close(): Promise<void>;
}

/** Stands before a service, and decides the fate of every call; one to AWS is known by its operation, any other by method and path. */
export const faultyProxy = async (target: string, fateOf: (operation: string) => Fate): Promise<FaultyProxy> => {
  const calls: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const named = incoming.headers['x-amz-target'];
    const operation =
      typeof named === 'string' ? (named.split('.').at(-1) ?? '') : `${incoming.method} ${incoming.url}`;
    calls.push(operation);
    const fate = fateOf(operation);
    const body = Buffer.concat(await incoming.toArray());
    if (typeof fate === 'object') {
      outgoing.writeHead(fate.status, { 'content-type': 'application/x-amz-json-1.0' });
      outgoing.end(
        JSON.stringify({ __type: `com.amazonaws#${fate.error}`, message: 'as the test wanted it', ...fate.facts }),
      );
      return;
    }
    // Whoever is ended meanwhile, at either end, leaves the other without an answer.
    await forward(target, incoming, body, outgoing, fate).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    calls,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const forward = async (
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
  fate: 'pass' | 'lose the answer' | 'never answer',
): Promise<void> => {
  const onward = request(target + incoming.url, { method: incoming.method, headers: incoming.headers });
  onward.end(body);
  const [answer]: IncomingMessage[] = await once(onward, 'response');
  if (!answer) throw new Error('no answer');
  const answered = Buffer.concat(await answer.toArray());
  if (fate === 'never answer') return;
  if (fate === 'lose the answer') {
    outgoing.destroy();
    return;
  }
  outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
  outgoing.end(answered);
};
