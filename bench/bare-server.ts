import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';

/** A lower bound: parses, syncs one page for request and claim and one for the result, and checks nothing. */
const log = openSync(join(process.argv[2] ?? '.', 'log'), 'w');
const page = Buffer.alloc(16_384, 'x');
const requested: string[] = [];
const completed = new Set<string>();
const claimers: ServerResponse[] = [];
const waiters = new Map<string, ServerResponse>();

const sync = (): void => {
  writeSync(log, page);
  fdatasyncSync(log);
};

const answer = (outgoing: ServerResponse | undefined, status: number, body: object): void => {
  const text = JSON.stringify(body);
  outgoing?.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  outgoing?.end(text);
};

const handOver = (): void => {
  if (requested.length === 0 || claimers.length === 0) return;
  answer(claimers.shift(), 200, { tasks: [{ message: { id: requested.shift() } }], messages: [] });
};

const show = (id: string): void => {
  if (!completed.has(id) || !waiters.has(id)) return;
  answer(waiters.get(id), 200, { status: 'completed' });
  waiters.delete(id);
};

const take = (message: { type: string; id: string; correlationId: string }, outgoing: ServerResponse): void => {
  sync();
  answer(outgoing, 202, {});
  if (message.type === 'task.request') {
    requested.push(message.id);
    handOver();
  } else {
    completed.add(message.correlationId);
    show(message.correlationId);
  }
};

const route = (method: string, path: string, body: string, outgoing: ServerResponse): void => {
  if (method === 'PUT') {
    answer(outgoing, 201, { key: 'any' });
  } else if (path === '/v1/messages') {
    take(JSON.parse(body), outgoing);
  } else if (path === '/v1/claims') {
    claimers.push(outgoing);
    handOver();
  } else {
    const id = /^\/v1\/tasks\/([^?]+)/.exec(path)?.[1] ?? '';
    waiters.set(id, outgoing);
    show(id);
  }
};

const server = createServer((incoming, outgoing) => {
  const pieces: Buffer[] = [];
  incoming.on('data', (piece: Buffer) => pieces.push(piece));
  incoming.on('end', () =>
    route(incoming.method ?? '', incoming.url ?? '', Buffer.concat(pieces).toString(), outgoing),
  );
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`);
});
process.on('SIGTERM', () => {
  closeSync(log);
  process.exit(0);
});
