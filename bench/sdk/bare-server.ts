import { createServer, type ServerResponse } from 'node:http';

/** Answers the calls of the SDK and of `raw-client.ts` as Parley does, and does no work: an upper bound for both. */
interface Message {
  kind: string;
  id: string;
  taskId: string;
  capability: string;
  input: unknown;
  output: unknown;
}

interface Claim {
  max?: number;
  wait?: number;
  messages?: Message[];
}

const requested: Message[] = [];
const results = new Map<string, unknown>();
const claimers: { outgoing: ServerResponse; claim: Claim; results: object[] | undefined; timer: NodeJS.Timeout }[] = [];
const waiters = new Map<string, (output: unknown) => void>();

const answer = (outgoing: ServerResponse, body: unknown): void => {
  const text = JSON.stringify(body);
  outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  outgoing.end(text);
};

const LEASE_MS = 300_000;

const toClaimed = (message: Message) => ({
  message: { ...message, from: 'bench', priority: 'normal', dialect: 'native', createdAt: new Date().toISOString() },
  attempt: 1,
  lease: { until: new Date(Date.now() + LEASE_MS).toISOString() },
  traceparent: '00-00000000000000000000000000000001-0000000000000001-01',
});

const handOver = (): void => {
  while (requested.length > 0 && claimers.length > 0) {
    const next = claimers.shift();
    if (!next || next.outgoing.destroyed) continue;
    clearTimeout(next.timer);
    const tasks = requested.splice(0, next.claim.max ?? 1).map(toClaimed);
    answer(next.outgoing, { tasks, ...(next.results && { results: next.results }) });
  }
};

const take = (message: Message): object => {
  if (message.kind === 'request') requested.push(message);
  else {
    const waiter = waiters.get(message.taskId);
    waiters.delete(message.taskId);
    if (waiter) waiter(message.output);
    else results.set(message.taskId, message.output);
  }
  return { status: 202, body: { id: message.id, duplicate: false } };
};

const takeClaim = (claim: Claim, outgoing: ServerResponse): void => {
  const taken = claim.messages?.map(take);
  const timer = setTimeout(
    () => {
      const at = claimers.findIndex((one) => one.outgoing === outgoing);
      if (at >= 0) claimers.splice(at, 1);
      answer(outgoing, { tasks: [], ...(taken && { results: taken }) });
    },
    (claim.wait ?? 0) * 1000,
  );
  claimers.push({ outgoing, claim, results: taken, timer });
  handOver();
};

const whenEnded = (id: string, tell: (output: unknown) => void): void => {
  if (!results.has(id)) {
    waiters.set(id, tell);
    return;
  }
  tell(results.get(id));
  results.delete(id);
};

const route = (url: string, body: string, outgoing: ServerResponse): void => {
  const [path = '', query = ''] = url.split('?');
  if (path === '/v1/claims') {
    takeClaim(JSON.parse(body), outgoing);
    return;
  }
  if (path === '/v1/messages') {
    const sent: Message & { messages?: Message[] } = JSON.parse(body);
    if (sent.messages) answer(outgoing, { results: sent.messages.map(take) });
    else if (query === '') answer(outgoing, take(sent));
    else whenEnded(sent.id, (output) => answer(outgoing, { id: sent.id, outcome: { kind: 'result', output } }));
    if (sent.id && query !== '') take(sent);
    handOver();
    return;
  }
  const id = path.slice('/v1/tasks/'.length);
  whenEnded(id, (result) => answer(outgoing, { id, state: 'completed', attempt: 1, result }));
};

const server = createServer((incoming, outgoing): void => {
  const pieces: Buffer[] = [];
  incoming.on('data', (piece: Buffer) => pieces.push(piece));
  incoming.on('end', () => route(incoming.url ?? '', Buffer.concat(pieces).toString(), outgoing));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`listening on http://127.0.0.1:${address.port}`);
});
