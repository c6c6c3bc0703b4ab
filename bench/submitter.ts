import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { inboxReader } from './inbox-reader.ts';
import { percentile } from './numbers.ts';
import { type Job, type Lived, WAYS } from './ways.ts';
import { requestOf } from './wire.ts';

const job: Job = JSON.parse(process.argv[2] ?? '');
const { inFlight, sees } = WAYS[job.way];
/** Long enough for the agent to be waiting again. */
const IDLE_PAUSE_MS = 5;

const connections = Array.from({ length: inFlight }, () => new Connection(job.port, job.key));
const inbox = sees === 'inbox' ? inboxReader(new Connection(job.port, job.key)) : undefined;

const live = async (connection: Connection): Promise<void> => {
  const id = randomUUID();
  const arrival = inbox?.resultOf(id);
  await connection.call('POST', '/v1/messages', requestOf(job.id, id), 202);
  if (arrival) await arrival;
  else while (!(await hasCompleted(connection, id)));
};

const hasCompleted = async (connection: Connection, id: string): Promise<boolean> =>
  (await connection.call('GET', `/v1/tasks/${id}?wait=20`, '', 200)).includes('"status":"completed"');

const liveAll = async (lives: number): Promise<Lived> => {
  const latencies: number[] = [];
  let begun = 0;
  const start = performance.now();
  const slots = connections.map(async (connection) => {
    while (begun++ < lives) {
      const sentAt = performance.now();
      await live(connection);
      latencies.push(performance.now() - sentAt);
      if (job.way === 'idle') await pause(IDLE_PAUSE_MS);
    }
  });
  await Promise.all(slots);
  const seconds = (performance.now() - start) / 1000;
  return { lives, seconds, p50Ms: percentile(latencies, 50), p99Ms: percentile(latencies, 99) };
};

process.on('message', async (lives: number) => process.send?.(await liveAll(lives)));
process.on('disconnect', () => process.exit());
