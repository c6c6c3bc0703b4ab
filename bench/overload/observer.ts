import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Latencies, type Spread } from './latencies.ts';

interface Agent {
  id: string;
  key: string;
}

export interface ObserverJob {
  port: number;
  requester: Agent;
  worker: Agent;
}

export interface Observed {
  healthz: Spread;
  healthzFailed: number;
  cycles: Spread;
  cyclesRefused: number;
  cyclesFailed: number;
}

const PROBE_MS = 50;
const PAUSE_MS = 20;
const LONGEST_MS = 10_000;

const { port, requester, worker }: ObserverJob = JSON.parse(process.argv[2] ?? '');
const base = `http://127.0.0.1:${port}`;
let [healthz, cycles] = [new Latencies(), new Latencies()];
let [healthzFailed, cyclesRefused, cyclesFailed] = [0, 0, 0];

/** On a new connection each time, like a monitoring probe. */
const probe = async (): Promise<void> => {
  const begun = performance.now();
  try {
    const signal = AbortSignal.timeout(LONGEST_MS);
    const reply = await fetch(`${base}/healthz`, { headers: { connection: 'close' }, signal });
    await reply.text();
    healthz.add(performance.now() - begun);
  } catch {
    healthzFailed += 1;
  }
};

const post = async ({ key }: Agent, path: string, body: object): Promise<string> => {
  for (;;) {
    const reply = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(LONGEST_MS),
    });
    const text = await reply.text();
    if (reply.ok) return text;
    if (reply.status !== 429 && reply.status !== 503)
      throw new Error(`${path} was answered with ${reply.status}: ${text}`);
    cyclesRefused += 1;
    await pause(Number(reply.headers.get('retry-after')) * 1000);
  }
};

const message = ({ id }: Agent, type: string, payload: object, more: object): object => ({
  id: randomUUID(),
  version: '1.0',
  type,
  from: id,
  timestamp: '2026-02-08T15:00:00Z',
  payload,
  ...more,
});

/** For one agent alone, so that no other task is ahead in its queue. */
const cycle = async (): Promise<void> => {
  const taskId = randomUUID();
  const begun = performance.now();
  try {
    const request = { task: 'security.briefing', params: {} };
    await post(requester, '/v1/messages', message(requester, 'task.request', request, { id: taskId, to: worker.id }));
    while (!(await post(worker, '/v1/claims', { wait: 5, domains: [] })).includes(taskId));
    const result = { status: 'completed', result: { format: 'markdown', content: 'done' } };
    await post(worker, '/v1/messages', message(worker, 'task.result', result, { correlationId: taskId }));
    cycles.add(performance.now() - begun);
  } catch {
    cyclesFailed += 1;
  }
};

const forever = async (act: () => Promise<void>, restMs: number): Promise<void> => {
  for (;;) {
    await act();
    await pause(restMs);
  }
};

void forever(probe, PROBE_MS);
void forever(cycle, PAUSE_MS);

process.on('message', () => {
  const seen: Observed = {
    healthz: healthz.spread,
    healthzFailed,
    cycles: cycles.spread,
    cyclesRefused,
    cyclesFailed,
  };
  [healthz, cycles] = [new Latencies(), new Latencies()];
  [healthzFailed, cyclesRefused, cyclesFailed] = [0, 0, 0];
  process.send?.(seen);
});
process.on('disconnect', () => process.exit());
