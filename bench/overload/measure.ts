import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { removeFolder, temporaryFolder } from '../own-processes.ts';
import { residentMb } from '../process-usage.ts';
import { startServer } from '../server.ts';
import { countLost } from './count-lost.ts';
import type { FloodJob } from './flooder.ts';
import type { Observed } from './observer.ts';
import type { Mode, OverloadOptions } from './options.ts';
import { flood, type Observer, startObserver } from './processes.ts';
import type { FloodResult } from './tally.ts';

export interface Overloaded {
  capacity: number;
  flood: FloodResult;
  before: Observed;
  during: Observed;
  rssMb: { before: number; most: number; after: number };
  recoveredMs: number | undefined;
  lost: number;
  looked: number;
}

const CAPACITY_SECONDS = 5;
const CAPACITY_CALLERS = 64;
const QUIET_MS = 3000;
const SAMPLE_MS = 250;
/** Recovered: twice in a row as fast as before, within this time. */
const RECOVERY_MS = 60_000;

export const measureOverload = async (mode: Mode, { seconds, factor }: OverloadOptions): Promise<Overloaded> => {
  const dir = temporaryFolder();
  const acknowledged = join(dir, 'acknowledged');
  writeFileSync(acknowledged, '');
  const server = await startServer(dir);
  const agent = async (id: string) => ({ id, key: await server.register(id) });
  const senders: FloodJob['senders'] = [];
  for (let n = 0; n < mode.keys; n++) senders.push(await agent(`flooder-${n}`));
  const job = { port: server.port, senders, acknowledged };
  const full = await flood({
    ...job,
    connections: CAPACITY_CALLERS,
    perSecond: 1e6,
    isPipelined: false,
    seconds: CAPACITY_SECONDS,
  });
  const capacity = full.accepted / CAPACITY_SECONDS;
  const [requester, worker] = [await agent('steady-requester'), await agent('steady-worker')];
  const observer = startObserver({ port: server.port, requester, worker });
  await pause(QUIET_MS);
  const before = await observer.seen();
  const rss = { before: residentMb(server.pid), most: 0, after: 0 };
  const sampling = setInterval(() => {
    rss.most = Math.max(rss.most, residentMb(server.pid));
  }, SAMPLE_MS);
  const result = await flood({ ...job, ...mode, perSecond: capacity * factor, seconds });
  clearInterval(sampling);
  const during = await observer.seen();
  const recoveredMs = await recovery(observer, before);
  rss.after = residentMb(server.pid);
  await observer.stop();
  await server.kill();
  const again = await startServer(dir);
  const ids = readFileSync(acknowledged, 'utf8').split('\n').filter(Boolean);
  const lost = await countLost(again.port, ids);
  await again.stop();
  removeFolder(dir);
  return { capacity, flood: result, before, during, rssMb: rss, recoveredMs, lost, looked: ids.length };
};

const recovery = async (observer: Observer, before: Observed): Promise<number | undefined> => {
  const begun = performance.now();
  for (let calm = 0; performance.now() - begun < RECOVERY_MS; ) {
    await pause(SAMPLE_MS);
    const { cycles, healthz } = await observer.seen();
    const isCalm = cycles.count > 0 && healthz.count > 0 && cycles.p50 <= before.cycles.p99 * 1.5;
    calm = isCalm ? calm + 1 : 0;
    if (calm === 2) return performance.now() - begun;
  }
  return undefined;
};
