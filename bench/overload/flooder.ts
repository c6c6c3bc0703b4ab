import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { requestOf } from '../wire.ts';
import { FloodConnection } from './flood-connection.ts';
import { Tally } from './tally.ts';

export interface FloodJob {
  port: number;
  senders: { id: string; key: string }[];
  connections: number;
  perSecond: number;
  /** Otherwise one request in flight per connection. */
  isPipelined: boolean;
  seconds: number;
  /** File with one acknowledged id per line. */
  acknowledged: string;
}

const TICK_MS = 5;
const LAST_ANSWERS_MS = 10_000;

const job: FloodJob = JSON.parse(process.argv[2] ?? '');
const tally = new Tally();
const senders = Array.from({ length: job.connections }, (_, n) => {
  const { id, key } = job.senders[n % job.senders.length] ?? { id: '', key: '' };
  const head = `POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n`;
  return { from: id, head, connection: new FloodConnection(job.port, tally) };
});

let next = 0;
const sendOne = (): boolean => {
  for (let tried = 0; tried < senders.length; tried++) {
    const sender = senders[next++ % senders.length];
    if (!sender) break;
    const { connection, head, from } = sender;
    if (job.isPipelined ? !connection.canTakeMore : connection.outstanding > 0) continue;
    const id = randomUUID();
    const body = requestOf(from, id);
    connection.send(id, `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return true;
  }
  return false;
};

const start = performance.now();
let due = 0;
for (let elapsed = 0; elapsed < job.seconds * 1000; elapsed = performance.now() - start) {
  const before = due;
  due = Math.floor((elapsed * job.perSecond) / 1000);
  for (let at = before; at < due; at++) {
    if (sendOne()) continue;
    tally.withheld += due - at;
    break;
  }
  await pause(TICK_MS);
}
const flooded = performance.now();
const isAnswered = (): boolean => senders.every(({ connection }) => connection.outstanding === 0);
while (!isAnswered() && performance.now() - flooded < LAST_ANSWERS_MS) await pause(TICK_MS);
for (const { connection } of senders) connection.close();
await pause(50);
appendFileSync(job.acknowledged, tally.acknowledged.map((id) => `${id}\n`).join(''));
process.send?.(tally.result);
process.disconnect?.();
