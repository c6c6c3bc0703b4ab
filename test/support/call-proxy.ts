import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';

/** A call passes, or its connection is cut: before it gets there, or after it took effect. */
export type CallFate = 'pass' | 'cut before' | 'cut after';

export interface CallProxy {
  endpoint: string;
  close(): Promise<void>;
}

interface CallProxyOptions {
  /** Asked for every call that has arrived whole, as `METHOD /path?query`. */
  decide(call: string): CallFate;
  /** What took effect, before its caller can learn it. */
  onAnswer?: (call: string, status: number) => void;
}

/** Stands before a server, and decides the fate of every call. */
export const startCallProxy = async (target: string, { decide, onAnswer }: CallProxyOptions): Promise<CallProxy> => {
  const server = createServer(async (incoming, outgoing) => {
    try {
      const call = `${incoming.method} ${incoming.url}`;
      const body = Buffer.concat(await incoming.toArray());
      const fate = decide(call);
      if (fate === 'cut before') {
        outgoing.destroy();
        return;
      }
      const onward = request(target + incoming.url, { method: incoming.method, headers: incoming.headers });
      onward.end(body);
      // A server that waits for something must learn that nobody waits with it.
      if (fate === 'pass') outgoing.on('close', () => onward.destroy());
      const [answer]: IncomingMessage[] = await once(onward, 'response');
      if (!answer) throw new Error('no answer');
      onAnswer?.(call, answer.statusCode ?? 0);
      if (fate === 'cut after') {
        answer.destroy();
        outgoing.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    } catch {
      outgoing.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
