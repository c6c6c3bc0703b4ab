import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { type InboxReader, inboxReader } from './inbox-reader.ts';
import { percentile } from './numbers.ts';
import { type Job, type Lived, WAYS } from './ways.ts';
import { requestOf } from './wire.ts';

const job: Job = JSON.parse(process.argv[2] ?? '');
const { inFlight, together, sees } = WAYS[job.way];
/** Long enough for the agent to wait again. */
const IDLE_PAUSE_MS = 5;

const connections = Array.from({ length: inFlight / together }, () => new Connection(job.port, job.key));
const inbox = sees === 'inbox' ? inboxReader(new Connection(job.port, job.key)) : undefined;

const live = async (connection: Connection): Promise<void> => {
  if (inbox) return liveTogether(connection, inbox);
  const id = randomUUID();
  if (sees === 'answer') {
    const answer = await connection.call('POST', '/v1/messages?wait=20', requestOf(job.id, id), 202);
    if (!answer.includes('"type":"task.result"')) throw new Error(`no result came in time: ${answer}`);
  } else {
    await connection.call('POST', '/v1/messages', requestOf(job.id, id), 202);
    while (!(await hasCompleted(connection, id)));
  }
};

const liveTogether = async (connection: Connection, reader: InboxReader): Promise<void> => {
  const ids = Array.from({ length: together }, () => randomUUID());
  const arrivals = ids.map((id) => reader.resultOf(id));
  const messages = ids.map((id) => requestOf(job.id, id)).join();
  const answer = await connection.call('POST', '/v1/messages', `{"messages":[${messages}]}`, 200);
  if (answer.split('"status":202').length - 1 !== together) throw new Error(`not all were accepted: ${answer}`);
  await Promise.all(arrivals);
};

const hasCompleted = async (connection: Connection, id: string): Promise<boolean> =>
  (await connection.call('GET', `/v1/tasks/${id}?wait=20`, '', 200)).includes('"status":"completed"');

const liveAll = async (lives: number): Promise<Lived> => {
  const latencies: number[] = [];
  let begun = 0;
  const start = performance.now();
  const slots = connections.map(async (connection) => {
    for (; begun < lives; ) {
      begun += together;
      const sentAt = performance.now();
      await live(connection);
      latencies.push(performance.now() - sentAt);
      if (inFlight === 1) await pause(IDLE_PAUSE_MS);
    }
  });
  await Promise.all(slots);
  const seconds = (performance.now() - start) / 1000;
  return { lives: begun, seconds, p50Ms: percentile(latencies, 50), p99Ms: percentile(latencies, 99) };
};

process.on('message', async (lives: number) => process.send?.(await liveAll(lives)));
process.on('disconnect', () => process.exit());
