import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { lookAtMachine } from './machine.ts';
import { countLost } from './overload/count-lost.ts';
import type { FloodJob } from './overload/flooder.ts';
import type { Observed } from './overload/observer.ts';
import { flood, startObserver } from './overload/processes.ts';
import type { FloodResult } from './overload/tally.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { printTable } from './print-table.ts';
import { residentMb } from './process-usage.ts';
import { startServer } from './server.ts';

const HELP = `Raises the load in steps to what the server can do and to five times that, and goes back.

  npm run soak -- [options]

  --seconds <n>   for all steps together (600; at most 14400)
  --help          this text

Server, load and observer are processes of their own, on 127.0.0.1. After each step it shows what was accepted and refused, how long
that took, and the server's memory, open handles and disk space. At the end the server is killed (SIGKILL) and started again, and
every task that was acknowledged is looked for.
`;

/** Of the capacity, which is measured first. The last step shows what stays. */
const STEPS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 0.25];
const KEYS = 8;
const CONNECTIONS = 400;
const CAPACITY = { seconds: 5, connections: 64 };
const QUIET_MS = 2000;

interface Step {
  factor: number;
  result: FloodResult;
  observed: Observed;
  memoryMb: number;
  handles: number;
  diskMb: number;
}

const soak = async (seconds: number): Promise<void> => {
  const dir = temporaryFolder();
  const acknowledged = join(dir, 'acknowledged');
  writeFileSync(acknowledged, '');
  const server = await startServer(dir);
  const agent = async (id: string) => ({ id, key: await server.register(id) });
  const senders: FloodJob['senders'] = [];
  for (let n = 0; n < KEYS; n++) senders.push(await agent(`soaking-${n}`));
  const job = { port: server.port, senders, acknowledged, isPipelined: false };
  const most = await flood({ ...job, ...CAPACITY, perSecond: 1e6 });
  const capacity = most.accepted / CAPACITY.seconds;
  const observer = startObserver({ port: server.port, requester: await agent('asks'), worker: await agent('works') });
  const steps: Step[] = [];
  for (const factor of STEPS) {
    await pause(QUIET_MS);
    await observer.seen();
    const connections = factor < 1 ? CAPACITY.connections : CONNECTIONS;
    const wanted = { connections, perSecond: capacity * factor, seconds: seconds / STEPS.length };
    const result = await flood({ ...job, ...wanted });
    const observed = await observer.seen();
    const usage = { memoryMb: residentMb(server.pid), handles: readdirSync(`/proc/${server.pid}/fd`).length };
    steps.push({ factor, result, observed, ...usage, diskMb: measureDisk(dir) });
  }
  await observer.stop();
  await server.kill();
  const again = await startServer(dir);
  const ids = readFileSync(acknowledged, 'utf8').split('\n').filter(Boolean);
  const lost = await countLost(again.port, ids);
  await again.stop();
  removeFolder(dir);
  printTable(
    `capacity ${Math.round(capacity)} requests a second; ${STEPS.length} steps in ${seconds} s`,
    toRows(steps),
  );
  console.log(`\n${lost} of ${ids.length} acknowledged tasks were lost by SIGKILL at the end.`);
  if (lost > 0) process.exitCode = 1;
};

const measureDisk = (dir: string): number =>
  readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0) / 1e6;

const toRows = (steps: Step[]): string[][] => [
  [
    ...['load', 'accepted', 'refused', 'unanswered', 'accepted ms', 'another key, ms', 'its failures', '/healthz ms'],
    ...['MB', 'handles', 'disk MB'],
  ],
  ...steps.map(({ factor, result, observed, memoryMb, handles, diskMb }) => [
    `${factor} x`,
    String(result.accepted),
    String(Object.values(result.refused).reduce((sum, count) => sum + count, 0)),
    String(result.unanswered),
    spread(result.acceptedMs),
    spread(observed.cycles),
    String(observed.cyclesFailed),
    spread(observed.healthz),
    String(memoryMb),
    String(handles),
    String(Math.round(diskMb)),
  ]),
];

const spread = ({ p50, p99 }: { p50: number; p99: number }): string => `${Math.round(p50)} / ${Math.round(p99)}`;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '600' }, help: { type: 'boolean', default: false } },
});
const seconds = Number(values.seconds);
if (values.help) process.stdout.write(HELP);
else if (!(seconds >= STEPS.length && seconds <= 14_400))
  throw new Error(`--seconds must be a number from ${STEPS.length} to 14400, not "${values.seconds}".`);
else {
  console.log(JSON.stringify(lookAtMachine()));
  await soak(seconds);
}
