import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { assertNatsAnswers, findNatsServer } from '../../local/nats-server.ts';
import { eventually } from './eventually.ts';
import { atEndOf, lastingPort, type Owner, tempDir } from './server-process.ts';

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache/parley');
const UNPACKED = join(CACHE, 'nats-server');

/** The server on the path, or Debian's, unpacked into the project's cache without any rights. */
export const natsServerPath = (): string => {
  const unpackedTo = ['usr/sbin', 'usr/bin'].map((folder) => join(UNPACKED, folder));
  return findNatsServer() ?? findNatsServer(unpackedTo.join(delimiter)) ?? unpacked();
};

const unpacked = (): string => {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'unpacking-'));
  try {
    const quiet = { cwd: folder, stdio: 'pipe' } as const;
    execFileSync('apt-get', ['download', '-qq', 'nats-server'], quiet);
    const [archive = ''] = readdirSync(folder).filter((file) => file.endsWith('.deb'));
    execFileSync('dpkg-deb', ['-x', archive, 'unpacked'], quiet);
    // Another test file may have been faster.
    if (!existsSync(UNPACKED)) renameSync(join(folder, 'unpacked'), UNPACKED);
  } catch (cause) {
    throw new Error(
      'These tests need a nats-server with JetStream, 2.9 or newer. There is none on the path, and Debian’s could not be ' +
        `fetched with apt-get. Install one: https://docs.nats.io/running-a-nats-service/introduction/installation`,
      { cause },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return natsServerPath();
};

export interface NatsServer {
  url: string;
  port: number;
  /** At once, as a power failure would. */
  kill(): Promise<void>;
  /** Again on the same folder and port. */
  start(): Promise<void>;
  /** Says nothing while it is frozen, and keeps its connections. */
  freeze(): void;
  thaw(): void;
}

/** A server with JetStream of its own, on a folder and a port that it keeps over restarts. */
export const natsServer = async (owner: Owner, more: string[] = []): Promise<NatsServer> => {
  const binary = natsServerPath();
  const dir = tempDir(owner);
  const port = await lastingPort();
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const start = async (): Promise<void> => {
    child = spawn(binary, ['-js', '-sd', dir, '-a', '127.0.0.1', '-p', String(port), ...more], { stdio: 'ignore' });
    await eventually(() => assertNatsAnswers(port));
  };
  atEndOf(owner, kill);
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    kill,
    start,
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
  };
};
