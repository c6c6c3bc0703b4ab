/** What `Transport` needs of an answer that it reads whole. */
export interface Answer {
  status: number;
  header(name: string): string | undefined;
  text: string;
}

export interface Question {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  signal: AbortSignal | undefined;
  timeoutMs: number;
}

export type Ask = (question: Question) => Promise<Answer>;

/** As much of `node:http` as is used here: the SDK needs no types of Node.js. */
interface Socketed {
  on(event: string, listener: (value: never) => void): this;
}
interface Incoming extends Socketed {
  statusCode?: number;
  headers: Record<string, string | string[] | undefined>;
  setEncoding(encoding: string): void;
}
interface Outgoing extends Socketed {
  reusedSocket: boolean;
  end(text?: string): void;
  destroy(error?: Error): void;
}
interface NodeHttp {
  Agent: new (options: object) => object;
  request(url: string, options: object, answer: (incoming: Incoming) => void): Outgoing;
}

const MAX_SOCKETS = 256;

/**
 * Calls by `node:http`, which take half the CPU of `fetch`. Undefined where there is none, as in browsers and on edge runtimes.
 * Bundlers see no import.
 */
export const createNodeAsk = (url: string): Ask | undefined => {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const scheme = url.startsWith('https:') ? 'https' : 'http';
  const http = process?.getBuiltinModule?.(`node:${scheme}`) as NodeHttp | undefined;
  if (!http) return undefined;
  const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, scheduling: 'lifo' });
  const ask: Ask = (question) =>
    new Promise((resolve, reject) => {
      const { method, headers, body, signal, timeoutMs } = question;
      const options = { method, headers: { ...headers, 'content-length': byteLength(body) }, agent };
      const outgoing = http.request(question.url, options, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (piece: string) => {
          text += piece;
        });
        incoming.on('end', () => {
          settle();
          resolve({ status: incoming.statusCode ?? 0, header: (name) => toText(incoming.headers[name]), text });
        });
        incoming.on('error', fail);
        incoming.on('aborted', () => fail(new Error('the connection ended before the answer did')));
      });
      const stop = (): void => outgoing.destroy(new Error('aborted'));
      const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
      };
      function fail(error: Error & { code?: string }): void {
        settle();
        // A server may close a connection that was idle in the moment in which it is used again.
        if (outgoing.reusedSocket && error.code === 'ECONNRESET' && !signal?.aborted) resolve(ask(question));
        else reject(error);
      }
      outgoing.on('error', fail);
      signal?.addEventListener('abort', stop, { once: true });
      outgoing.end(body);
    });
  return ask;
};

const byteLength = (text: string | undefined): number => {
  if (text === undefined) return 0;
  const { Buffer } = globalThis as unknown as { Buffer: { byteLength(text: string): number } };
  return Buffer.byteLength(text);
};

const toText = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value;
