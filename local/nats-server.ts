import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from './cli-options.ts';
import { findFreePort } from './cloudformation-runner/http/listen.ts';

export interface NatsServer {
  url: string;
  stop(): Promise<void>;
}

const DEFAULT_NATS_PORT = 4222;
const START_TIMEOUT_MS = 5000;

/**
 * Stdin is a pipe from this process, which the kernel closes however the process ends. So the server never outlives
 * Parley and its data folder.
 */
const RUN_UNTIL_STDIN_CLOSES = `exec 3<&0; "$0" "$@" 3<&- & program=$!
{ read -r _ <&3; kill $program; } & reader=$!
wait $program; code=$?; kill $reader; exit $code`;

export const findNatsServer = (path = process.env.PATH ?? ''): string | undefined =>
  path
    .split(delimiter)
    .map((folder) => join(folder, 'nats-server'))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

export const startNatsServer = async (program: string, dir: string): Promise<NatsServer> => {
  const folder = join(dir, 'nats');
  mkdirSync(folder, { recursive: true });
  const port = (await isPortFree(DEFAULT_NATS_PORT)) ? DEFAULT_NATS_PORT : await findFreePort();
  const settings = join(folder, 'nats.conf');
  // Round Table results may have 4 MiB.
  writeFileSync(
    settings,
    `host: 127.0.0.1\nport: ${port}\nmax_payload: 8MB\njetstream { store_dir: ${JSON.stringify(folder)} }\n`,
  );
  // Detached: Ctrl-C must not reach it before Parley has closed its connections.
  const child = spawn('/bin/sh', ['-c', RUN_UNTIL_STDIN_CLOSES, program, '-c', settings], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  await Promise.race([waitForNats(port), throwOnExit(child)]);
  return {
    url: `nats://127.0.0.1:${port}`,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.stdin.end();
      await exit;
    },
  };
};

const throwOnExit = async (child: ChildProcess): Promise<never> => {
  const [why] = await Promise.race([once(child, 'exit'), once(child, 'error')]);
  throw new StartError(`nats-server ended at once (${why}). Mend it, or start without: --nats off.`);
};

const isPortFree = async (port: number): Promise<boolean> => {
  const probe = createServer().listen(port, '127.0.0.1');
  const isIt = await once(probe, 'listening').then(
    () => true,
    () => false,
  );
  if (isIt) {
    probe.close();
    await once(probe, 'close');
  }
  return isIt;
};

/** A NATS server sends INFO first. */
export const assertNatsAnswers = async (port: number): Promise<void> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'data', { signal: AbortSignal.timeout(500) });
  } finally {
    socket.destroy();
  }
};

const waitForNats = async (port: number): Promise<void> => {
  for (const until = Date.now() + START_TIMEOUT_MS; ; await pause(20)) {
    try {
      return await assertNatsAnswers(port);
    } catch (cause) {
      if (Date.now() > until)
        throw new StartError('nats-server does not answer. Start without it: --nats off.', { cause });
    }
  }
};
