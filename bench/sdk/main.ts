import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { Connection } from '../connection.ts';
import { lookAtMachine } from '../machine.ts';
import { median, rounded } from '../numbers.ts';
import { ended, forked, removeFolder, spawned, temporaryFolder } from '../own-processes.ts';
import { printTable } from '../print-table.ts';
import { cpuOf, machineCpuMs } from '../process-usage.ts';
import { ADMIN_KEY } from '../server.ts';
import { CAPABILITY, type ClientJob, type ClientOrder, type ClientReport } from './jobs.ts';

/** Requests whose results their requester has, through the SDK and through raw calls, on Parley and on a server without work. */
const IN_FLIGHT = 64;
const [windowMs = 5000, repetitions = 3] = process.argv.slice(2).map(Number);
const MAIN = join(import.meta.dirname, '../../local/main.ts');
const BARE = join(import.meta.dirname, 'bare-server.ts');
const CLIENT = join(import.meta.dirname, 'client.ts');

interface Site {
  name: string;
  submitter: ChildProcess;
  pids: { server: number; worker: number; submitter: number };
  stop(): Promise<void>;
}

const startSite = async (server: 'parley' | 'bare', way: ClientJob['way']): Promise<Site> => {
  const dir = temporaryFolder();
  const command = server === 'bare' ? [BARE] : [MAIN, '--port', '0', '--data', dir];
  const child = spawned(command, {
    env: { ...process.env, PARLEY_ADMIN_KEY: ADMIN_KEY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    child.stdout?.on('data', (text) => {
      const [, found] = /listening on http:\/\/[^:]+:(\d+)/.exec(String(text)) ?? [];
      if (found) resolve(Number(found));
    });
  });
  const start = async (role: ClientJob['role']): Promise<ChildProcess> => {
    const key = server === 'bare' ? 'any' : await register(port, role);
    const job: ClientJob = { role, way, port, key };
    return forked(CLIENT, [JSON.stringify(job)], { execArgv: [] });
  };
  const worker = await start('worker');
  const submitter = await start('submitter');
  return {
    name: `${way} on ${server}`,
    submitter,
    pids: { server: child.pid ?? 0, worker: worker.pid ?? 0, submitter: submitter.pid ?? 0 },
    stop: async () => {
      for (const one of [submitter, worker]) await ended(one, 'SIGKILL');
      await ended(child, 'SIGTERM');
      removeFolder(dir);
    },
  };
};

const register = async (port: number, id: string): Promise<string> => {
  const admin = new Connection(port, ADMIN_KEY);
  const registration = JSON.stringify({ dialect: 'native', capabilities: id === 'worker' ? [CAPABILITY] : [] });
  const { key }: { key: string } = JSON.parse(await admin.call('PUT', `/v1/agents/${id}`, registration, 201));
  admin.close();
  return key;
};

interface Window extends ClientReport {
  serverCpuMs: number;
  workerCpuMs: number;
  /** Cores that others used meanwhile. */
  taken: number;
}

const totalOf = (pid: number): number => {
  const { user, system } = cpuOf(pid);
  return user + system;
};

const measure = async ({ submitter, pids }: Site, order: ClientOrder): Promise<Window> => {
  const before = { server: totalOf(pids.server), worker: totalOf(pids.worker), all: machineCpuMs() };
  const own = totalOf(pids.submitter) + before.server + before.worker;
  const report = await new Promise<ClientReport>((resolve) => {
    submitter.once('message', resolve);
    submitter.send(order);
  });
  const [server, worker] = [totalOf(pids.server), totalOf(pids.worker)];
  const used = totalOf(pids.submitter) + server + worker - own;
  return {
    ...report,
    serverCpuMs: server - before.server,
    workerCpuMs: worker - before.worker,
    taken: (machineCpuMs() - before.all - used) / 1000 / report.seconds,
  };
};

const toRow = (name: string, windows: Window[]): string[] => {
  const middle = (value: (window: Window) => number): number => median(windows.map(value));
  const clientUs = middle(({ cpuMs, workerCpuMs, cycles }) => ((cpuMs + workerCpuMs) / cycles) * 1000);
  return [
    name,
    String(Math.round(middle(({ cycles, seconds }) => cycles / seconds))),
    rounded(middle(({ p50 }) => p50)).toString(),
    rounded(middle(({ p99 }) => p99)).toString(),
    String(Math.round(clientUs)),
    String(Math.round(middle(({ serverCpuMs, cycles }) => (serverCpuMs / cycles) * 1000))),
    rounded(middle(({ taken }) => taken)).toString(),
  ];
};

console.log(JSON.stringify(lookAtMachine()));
const windows = new Map<string, Window[]>();
const add = (name: string, window: Window): void => {
  windows.set(name, [...(windows.get(name) ?? []), window]);
};
// One after the other, again and again: what others do on the machine then meets all of them.
for (let round = 0; round < repetitions; round++) {
  for (const server of ['bare', 'parley'] as const) {
    for (const way of ['sdk', 'raw'] as const) {
      const site = await startSite(server, way);
      await measure(site, { ms: windowMs / 2, concurrency: IN_FLIGHT });
      const full = await measure(site, { ms: windowMs, concurrency: IN_FLIGHT });
      add(`${site.name}, ${IN_FLIGHT} in flight`, full);
      const rate = 0.7 * (full.cycles / full.seconds);
      add(`${site.name}, at 70 % of that`, await measure(site, { ms: windowMs, concurrency: IN_FLIGHT, rate }));
      add(`${site.name}, one at a time`, await measure(site, { ms: windowMs / 2, concurrency: 1 }));
      await site.stop();
    }
  }
}
printTable('SDK', [
  ['', 'cycles/s', 'p50 ms', 'p99 ms', 'client CPU µs', 'server CPU µs', 'cores taken'],
  ...[...windows]
    .toSorted(([a], [b]) => (a.split(', ')[1] ?? '').localeCompare(b.split(', ')[1] ?? ''))
    .map(([name, some]) => toRow(name, some)),
]);
