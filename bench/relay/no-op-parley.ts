import { createServer } from 'node:http';
import type { RelayPlan } from '../../shared/nats/relay-plan.ts';

const plan: RelayPlan = {
  project: 'bench',
  streams: ['UP', 'DOWN'].map((name) => ({
    name,
    subjects: [`bench.${name.toLowerCase()}.>`],
    retention: 'limits',
    storage: 'file',
    maxAgeSeconds: 3600,
  })),
  unread: [],
  sources: [{ stream: 'UP', durable: 'parley-bench', filter: 'bench.up.>' }],
};

let count = 0;
let lastAt = 0;
let latencies: number[] = [];

const server = createServer((request, response) => {
  if (request.url === '/v1/relay/plan') return response.end(JSON.stringify(plan));
  if (request.url === '/seen') {
    response.end(JSON.stringify({ count, lastAt, latencies }));
    latencies = [];
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { messages }: { messages: { at: number }[] } = JSON.parse(Buffer.concat(chunks).toString());
    lastAt = performance.timeOrigin + performance.now();
    count += messages.length;
    if (messages.length === 1 && messages[0]) latencies.push(lastAt - messages[0].at);
    response.end(JSON.stringify({ results: messages.map(() => ({ status: 202, body: {} })) }));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
