import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { buildErrorResponse } from '../gateway/errors.ts';
import { findFreePort } from '../http/listen.ts';
import { RunnerError } from '../runner-error.ts';
import { buildJsonRequest, parseJsonResponse } from './call-json.ts';
import { NO_JAVA, spawnDynamoDbLocal } from './dynamodb-process.ts';
import { createForwarder, type Forward } from './forward.ts';

export interface DynamoDbLocal {
  forward: Forward;
  call(target: string, body: unknown, signal?: AbortSignal): Promise<unknown>;
  stop(): Promise<void>;
}

const PATIENCE_MS = 60_000;
const ASK_AGAIN_MS = 25;

export const startDynamoDbLocal = async (dir: string, region: string): Promise<DynamoDbLocal & { port: number }> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const port = await findFreePort();
  const child = await spawnDynamoDbLocal(port, dir);
  // The child must not outlive this process.
  const onExit = (): void => void child.kill('SIGKILL');
  process.on('exit', onExit);
  child.once('exit', () => process.off('exit', onExit));
  const { forward, close } = createForwarder(port);
  const call: DynamoDbLocal['call'] = async (target, body, signal) =>
    parseJsonResponse(target, await forward(buildJsonRequest('local', region, 'dynamodb', target, body, signal)));
  const stop = async (): Promise<void> => {
    close();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  try {
    await Promise.race([ready(call), throwOnExit(child)]);
  } catch (error) {
    if (child.pid !== undefined) await stop();
    throw error;
  }
  return { port, forward, call, stop };
};

export const NO_DYNAMODB: DynamoDbLocal = {
  forward: async () =>
    buildErrorResponse('dynamodb', { status: 400, code: 'ResourceNotFoundException', message: 'No tables' }),
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
      if (Date.now() > until) throw new RunnerError('DynamoDB Local did not answer within a minute.', { cause: error });
      await pause(ASK_AGAIN_MS);
    }
  }
};

const throwOnExit = (child: ChildProcess): Promise<never> =>
  new Promise((_, reject) => {
    child.once('error', (cause) => {
      const isMissing = 'code' in cause && cause.code === 'ENOENT';
      reject(isMissing ? new RunnerError(NO_JAVA, { cause }) : cause);
    });
    child.once('exit', (code) => reject(new RunnerError(`DynamoDB Local ended with ${code}. ${NO_JAVA}`)));
  });
