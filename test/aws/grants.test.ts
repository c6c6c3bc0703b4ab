import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { AwsCall } from '../../local/template/gateway/aws-call.ts';
import { laneNames } from '../../shared/aws-config.ts';
import { taskRef } from '../../shared/tasks/task.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import config from './app/parley.config.ts';
import { broken, by } from './faults.ts';
import { needlessGrants } from './needless-grants.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley({ after }, { streamRetries: 1 });

const PATIENCE_MS = 60_000;
const LARGE = 'The wall holds. '.repeat(1000);

const requester = (): Promise<TestAgent> => parley.agent(`tim-${randomUUID()}`, taskFormat);
const serving = (domain: string): Promise<TestAgent> => parley.agent(`lance-${randomUUID()}`, { domains: [domain] });

const objects = async (bucket: string): Promise<string[]> => {
  const listing = await parley.s3('GET', `/${bucket}?list-type=2`);
  return [...listing.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key);
};

const contentOf = async (id: string): Promise<string[]> =>
  (await objects(parley.content)).filter((key) => key.includes(id));

/** As DynamoDB does when the task's time is over. */
const removed = (id: string): Promise<unknown> => {
  const { pk, sk } = taskRef('default', id);
  return parley.aws('dynamodb', 'DeleteItem', { TableName: parley.table, Key: { pk: { S: pk }, sk: { S: sk } } });
};

const assertAllNeeded = (name: string): void => {
  const unused = parley.unusedGrants().filter(({ functionName }) => functionName === parley.functionNamed(name));
  assert.deepEqual(needlessGrants(unused, laneNames(config.projects).length), []);
};

describe('what no end-to-end test can bring about needs every grant of', { concurrency: 1 }, () => {
  it('dispatch: the content of a task goes when the task itself goes', async () => {
    const tim = await requester();
    const { id } = (await tim.call('POST', '/v1/tasks', tfRequest({ type: 'home.status', payload: { LARGE } }))).body;
    assert.equal((await contentOf(id)).length, 1);
    await removed(id);
    await eventually(async () => assert.deepEqual(await contentOf(id), []), PATIENCE_MS);
  });

  it('replay: all that dispatch does', { timeout: 120_000 }, async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const isEffect = ({ operation }: AwsCall): boolean => !/^PutObject$|Stream|Shard|Records/.test(operation);
    const fault = broken(parley, (call) => by('dispatch')(call) && isEffect(call));
    const ask = async (request: object): Promise<string> =>
      (await tim.call('POST', '/v1/tasks', tfRequest({ type: 'home.status', ...request }))).body.id;
    // A part of a task that is cancelled, one that has failed and is told, one whose time is short, and one that is gone.
    const parent = await ask({});
    const child = await ask({ context: { parentTaskId: parent } });
    await tim.call('POST', `/v1/tasks/${parent}/cancel`);
    const failed = await ask({ payload: { LARGE } });
    await lance.fail(failed, { error: 'rate_limited', message: 'no', retryAfterSeconds: 60 });
    await removed(failed);
    const kept = new Map<string, string>();
    await eventually(async () => {
      for (const key of await objects(parley.failures)) {
        if (!kept.has(key)) kept.set(key, await parley.s3('GET', `/${parley.failures}/${key}`));
      }
      const text = [...kept.values()].join();
      for (const id of [parent, child, failed]) assert.ok(text.includes(id));
      assert.ok(text.includes('REMOVE'));
    }, PATIENCE_MS);
    fault.end();
    await parley.ask('replay', {});
    await eventually(async () => assert.equal((await tim.task(child)).state, 'cancelled'), PATIENCE_MS);
    assert.deepEqual(await contentOf(failed), []);
    assertAllNeeded('replay');
  });

  it('sweep', async () => {
    const [tim, lance] = [await parley.agent('tim', {}), await serving('home')];
    await tim.request({ to: lance.id, ttl: 60 });
    await parley.ask('sweep', {});
    assertAllNeeded('sweep');
  });

  it('dead-letters', async () => {
    const tim = await parley.agent('tim-2', {});
    const taskId = await tim.request({ priority: 'high', payload: { task: 'home.status' } });
    const body = JSON.stringify({ project: 'default', group: taskId, body: { taskId, entry: 1 } });
    const given = await parley.ask('dead-letters', { Records: [{ messageId: randomUUID(), body }] });
    assert.deepEqual(given, { batchItemFailures: [] });
    assertAllNeeded('dead-letters');
  });
});
