import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from '../cli-options.ts';
import { findFreePort, startDynamoDbLocal } from '../cloudformation-runner/index.ts';
import { type LocalStack, SETTINGS, waitForHealth } from './localstack.ts';
import { installPackages } from './python-packages.ts';

const REGION = 'us-east-1';
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 30_000;
const RUNTIME_CLIENT = join(import.meta.dirname, 'runtime-client.ts');

/** LocalStack's Python package instead of its image; functions are processes of Node instead of containers. */
export const startPythonProcess = async (logFile: string, print: (line: string) => void): Promise<LocalStack> => {
  const python = await installPackages(print);
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), 'parley-localstack-'));
  const database = await startDynamoDbLocal(join(folder, 'dynamodb'), REGION);
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(python, ['-m', 'localstack.runtime.main'], {
    stdio: ['ignore', log, log],
    detached: true,
    env: {
      ...pickEnvironment(),
      ...SETTINGS,
      GATEWAY_LISTEN: `127.0.0.1:${port}`,
      // No DNS server.
      DNS_ADDRESS: '0',
      SKIP_SSL_CERT_DOWNLOAD: '1',
      FILESYSTEM_ROOT: folder,
      // TMPDIR means something else to it.
      TMPDIR: undefined,
      TEMP: folder,
      LAMBDA_RUNTIME_EXECUTOR: 'node',
      // The default of ten minutes keeps the processes of every burst.
      LAMBDA_KEEPALIVE_MS: '10000',
      PARLEY_NODE: process.execPath,
      PARLEY_RUNTIME_CLIENT: RUNTIME_CLIENT,
      PARLEY_COMPILE_CACHE: join(folder, 'compiled'),
      DYNAMODB_LOCAL_PORT: String(database.port),
    },
  });
  // It must not outlive this process.
  const onExit = (): void => {
    killGroup(child);
    rmSync(folder, { recursive: true, force: true });
  };
  process.on('exit', onExit);
  const stop = async (): Promise<void> => {
    await end(child);
    await database.stop();
    onExit();
    process.off('exit', onExit);
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([waitForHealth(endpoint, START_TIMEOUT_MS, logFile), throwOnExit(child, logFile)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop };
};

/** Settings of an AWS account, or of another LocalStack, must not reach this one. */
const pickEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|LOCALSTACK|NODE)_/.test(name)));

const throwOnExit = async (child: ChildProcess, logFile: string): Promise<never> => {
  const [code] = await once(child, 'exit');
  throw new StartError(`LocalStack ended with ${code}. ${logFile} says why.`);
};

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await Promise.race([exited, pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }
};

/** With the functions, which LocalStack ends itself unless it hangs. */
const killGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
};
