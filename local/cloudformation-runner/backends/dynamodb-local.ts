import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { buildErrorResponse } from '../gateway/errors.ts';
import { RunnerError } from '../runner-error.ts';
import { buildJsonRequest, parseJsonResponse } from './call-json.ts';
import { NO_JAVA, spawnDynamoDbLocal } from './dynamodb-process.ts';
import { createForwarder, type Forward } from './forward.ts';

export interface DynamoDbLocal {
  forward: Forward;
  call(target: string, body: unknown, signal?: AbortSignal): Promise<unknown>;
  stop(): Promise<void>;
}

export interface DynamoDbProcess extends DynamoDbLocal {
  port: number;
  pid: number;
}

const PATIENCE_MS = 60_000;
const ASK_AGAIN_MS = 25;
/** Enough for a stack trace's first lines, which say what is wrong. */
const MOST_COMPLAINT_CHARACTERS = 500;

/** Without a folder, its tables are in memory. */
export const startDynamoDbLocal = async (dir: string | undefined, region: string): Promise<DynamoDbProcess> => {
  if (dir !== undefined) mkdirSync(dir, { recursive: true, mode: 0o700 });
  const child = await spawnDynamoDbLocal(dir);
  const { pid = 0 } = child;
  // The child must not outlive this process.
  const onExit = (): void => void child.kill('SIGKILL');
  process.on('exit', onExit);
  child.once('exit', () => process.off('exit', onExit));
  const port = await readPort(child);
  const { forward, close } = createForwarder(port);
  const call: DynamoDbLocal['call'] = async (target, body, signal) =>
    parseJsonResponse(target, await forward(buildJsonRequest('local', region, 'dynamodb', target, body, signal)));
  const stop = async (): Promise<void> => {
    close();
    await end(child);
  };
  try {
    await waitUntilReady(child, call);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pid, forward, call, stop };
};

export const NO_DYNAMODB: DynamoDbLocal = {
  forward: async () =>
    buildErrorResponse('dynamodb', { status: 400, code: 'ResourceNotFoundException', message: 'No tables' }),
  call: () => Promise.reject(new Error('the template has no table')),
  stop: () => Promise.resolve(),
};

const end = async (child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
  if (hasEnded(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
};

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Its own words: who answers on a guessed port may be another server. */
const readPort = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    let said = '';
    let complaint = '';
    child.stderr?.on('data', (chunk) => {
      if (complaint.length < MOST_COMPLAINT_CHARACTERS) complaint += chunk;
    });
    child.stdout?.on('data', (chunk) => {
      said = said.slice(-MOST_COMPLAINT_CHARACTERS) + chunk;
      const port = /listening on (\d+)\n/.exec(said)?.[1];
      if (port !== undefined) settle(() => resolve(Number(port)));
    });
    child.once('error', (cause) => {
      const isMissing = 'code' in cause && cause.code === 'ENOENT';
      settle(() => reject(isMissing ? new RunnerError(NO_JAVA, { cause }) : cause));
    });
    child.once('close', (code, signal) => {
      const why = complaint.trim().slice(0, MOST_COMPLAINT_CHARACTERS) || NO_JAVA;
      settle(() => reject(new RunnerError(`DynamoDB Local ended with ${signal ?? code} before it listened. ${why}`)));
    });
    const timer = setTimeout(
      () => settle(() => void end(child, 'SIGKILL').then(() => reject(new RunnerError(NO_ANSWER)))),
      PATIENCE_MS,
    );
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      // A full pipe would stop it.
      for (const stream of [child.stdout, child.stderr]) stream?.removeAllListeners('data').resume();
      done();
    };
  });

const waitUntilReady = async (child: ChildProcess, call: DynamoDbLocal['call']): Promise<void> => {
  for (const until = Date.now() + PATIENCE_MS; ; await pause(ASK_AGAIN_MS)) {
    try {
      await call('DynamoDB_20120810.ListTables', {});
      return;
    } catch (cause) {
      if (hasEnded(child)) throw new RunnerError('DynamoDB Local ended as soon as it listened.', { cause });
      if (Date.now() > until) throw new RunnerError(NO_ANSWER, { cause });
    }
  }
};

const NO_ANSWER = 'DynamoDB Local did not answer within a minute.';
