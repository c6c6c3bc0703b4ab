import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Caller, callerWith, httpTransport, registered, type TestAgent, type Transport } from './api.ts';

const MAIN = resolve(import.meta.dirname, '../../local/main.ts');
const START_MS = 20_000;
/** Reading the sources is most of what a start costs, and the tests start often. */
const COMPILED = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'parley-compiled');

/** A test, or a suite through its `after`: when it ends, so does what was started for it. */
export interface Owner {
  after(cleanUp: () => unknown): void;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Surroundings {
  env?: Record<string, string> | undefined;
  /** A command that runs the rest of its arguments, such as `nsenter`, in this same process. */
  within?: string[];
}

export interface ServerOptions extends Surroundings {
  dir: string;
  port?: number;
  host?: string;
  /** As `--nats` takes it, `off` unless it is said; empty to leave it out. */
  nats?: string;
  /** Further arguments. */
  args?: string[];
}

export interface ServerProcess {
  address: string;
  port: number;
  pid: number;
  adminKey: string;
  admin: Caller;
  transport: Transport;
  stdout(): string;
  stderr(): string;
  agent(id: string, registration?: object): Promise<TestAgent>;
  /** Sends the signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
  stop(): Promise<Exit>;
  exited: Promise<Exit>;
}

const running = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of running) child.kill('SIGKILL');
};
process.on('exit', killAll);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));

const endings = new WeakMap<Owner, (() => unknown)[]>();

/** What was made last goes first: a process before the folder that it writes to. */
export const atEndOf = (owner: Owner, cleanUp: () => unknown): void => {
  const known = endings.get(owner);
  if (known) {
    known.push(cleanUp);
    return;
  }
  const cleanUps = [cleanUp];
  endings.set(owner, cleanUps);
  owner.after(async () => {
    for (const each of cleanUps.toReversed()) await each();
  });
};

export const tempDir = (owner: Owner): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-process-'));
  atEndOf(owner, () => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** A port to come back to after a restart: below those that the system hands out, so that nobody gets it in between. */
export const lastingPort = async (): Promise<number> => {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
};

/** Runs `local/main.ts` with what the tests' own environment does not change. */
const launch = (owner: Owner, args: string[], { env, within = [] }: Surroundings) => {
  const { PARLEY_ADMIN_KEY: _key, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const [command = '', ...rest] = [...within, process.execPath, MAIN, ...args];
  const child = spawn(command, rest, {
    env: { ...inherited, NODE_COMPILE_CACHE: COMPILED, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr += text;
  });
  running.add(child);
  const exited = once(child, 'close').then(([code, signal]): Exit => {
    running.delete(child);
    return { code, signal, ...said };
  });
  atEndOf(owner, () => {
    child.kill('SIGKILL');
    return exited;
  });
  return { child, said, exited };
};

/** Runs it with arguments that make it end by itself; one that does not end is a failure. */
export const runToEnd = async (owner: Owner, args: string[], surroundings: Surroundings = {}): Promise<Exit> => {
  const { child, exited } = launch(owner, args, surroundings);
  const tooLong = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const exit = await exited;
  clearTimeout(tooLong);
  if (exit.signal === 'SIGKILL') throw new Error(`It did not end by itself. It said: ${exit.stdout}${exit.stderr}`);
  return exit;
};

/** Starts Parley in a process of its own and waits until it says where it listens. */
export const startServer = async (owner: Owner, options: ServerOptions): Promise<ServerProcess> => {
  const { dir, port = 0, host = '127.0.0.1', nats = 'off', args: more = [], ...surroundings } = options;
  const nearNats = nats === '' ? [] : ['--nats', nats];
  const args = ['--port', String(port), '--host', host, '--data', dir, ...nearNats, ...more];
  const { child, said, exited } = launch(owner, args, surroundings);
  const address = await listening(child, said, exited);
  const transport = httpTransport(address);
  const adminKey = surroundings.env?.PARLEY_ADMIN_KEY ?? readFileSync(join(dir, 'admin-key'), 'utf8').trim();
  const admin = callerWith(transport, adminKey);
  const health = await transport('GET', '/healthz', {}, undefined);
  if (health.status !== 200) throw new Error(`/healthz answered ${health.status} ${JSON.stringify(health.body)}`);
  const kill = (signal: NodeJS.Signals): Promise<Exit> => {
    child.kill(signal);
    return exited;
  };
  return {
    address,
    port: Number(new URL(address).port),
    pid: child.pid ?? 0,
    adminKey,
    admin,
    transport,
    exited,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    agent: (id, registration) => registered(transport, admin, id, registration),
    kill,
    stop: () => kill('SIGTERM'),
  };
};

/** The greeting is one write, so that all of it is there once its last line is. */
const listening = async (child: ChildProcess, said: { stdout: string }, exited: Promise<Exit>): Promise<string> => {
  const ended = exited.then(({ stderr, code }) => {
    throw new Error(`Parley ended with ${code} before it listened: ${stderr}`);
  });
  ended.catch(() => {});
  const tooLong = AbortSignal.timeout(START_MS);
  while (!said.stdout.includes('Ctrl-C stops it.')) {
    if (!child.stdout) throw new Error('a process without an output');
    await Promise.race([once(child.stdout, 'data', { signal: tooLong }), ended]);
  }
  const address = /listening on (http:\S+)/.exec(said.stdout)?.[1];
  if (!address) throw new Error(`No address in ${said.stdout}`);
  return address;
};
