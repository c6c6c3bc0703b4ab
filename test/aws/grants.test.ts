import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { AwsCall } from '../../local/template/gateway/aws-call.ts';
import type { UnusedGrant } from '../../local/template/start-template.ts';
import { graphRef } from '../../shared/graphs/graph.ts';
import { laneNames } from '../../shared/lane-names.ts';
import { taskRef } from '../../shared/tasks/task.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
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

/** A message of the queue that the function reads. */
const carriedOut = async (name: string, message: object): Promise<void> => {
  const records = [{ messageId: randomUUID(), body: JSON.stringify(message) }];
  assert.deepEqual(await parley.ask(name, { Records: records }), { batchItemFailures: [] });
};

const unusedBy = (name: string): UnusedGrant[] =>
  parley.unusedGrants().filter(({ functionName }) => functionName === parley.functionNamed(name));

const assertAllNeeded = (name: string): void =>
  assert.deepEqual(needlessGrants(unusedBy(name), laneNames(config.projects)), []);

describe('what no end-to-end test can bring about works with the grants that there are', {
  concurrency: 1,
}, () => {
  it('dispatch: the content of a task goes when the task itself goes', async () => {
    const tim = await requester();
    const { id } = (await tim.call('POST', '/v1/tasks', tfRequest({ type: 'home.status', payload: { LARGE } }))).body;
    assert.equal((await contentOf(id)).length, 1);
    await removed(id);
    await eventually(async () => assert.deepEqual(await contentOf(id), []), PATIENCE_MS);
  });

  it('replay: all that dispatch does', { timeout: 120_000 }, async () => {
    const [tim, lance, cook] = [await requester(), await serving('home'), await requester()];
    const isEffect = ({ operation }: AwsCall): boolean => !/^PutObject$|Stream|Shard|Records/.test(operation);
    const fault = broken(parley, (call) => by('dispatch')(call) && isEffect(call));
    // What waits for what is done, a part of what is cancelled, what has failed and will be tried again, and what is gone.
    const { graph, id } = graphOf({ soup: [], dinner: ['soup'] });
    const nodes = graph.nodes.map((node) => ({ ...node, agent: cook.id, capability: 'home.dinner' }));
    assert.equal((await tim.call('POST', '/v1/graphs', { ...graph, nodes })).status, 202);
    assert.equal((await cook.send({ id: id('soup'), status: 'completed', result: {} })).status, 202);
    const ask = async (request: object): Promise<string> =>
      (await tim.call('POST', '/v1/tasks', tfRequest({ type: 'home.status', ...request }))).body.id;
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
      for (const task of [parent, child, failed, id('soup')]) assert.ok(text.includes(task));
      assert.ok(text.includes('REMOVE'));
    }, PATIENCE_MS);
    fault.end();
    await parley.ask('replay', {});
    await eventually(async () => assert.equal((await tim.task(child)).state, 'cancelled'), PATIENCE_MS);
    await eventually(async () => assert.equal((await tim.task(id('dinner'))).state, 'requested'), PATIENCE_MS);
    assert.deepEqual(await contentOf(failed), []);
    // What else it may do, it may because dispatch may.
    assert.deepEqual(
      unusedBy('replay').filter(({ resource }) => resource.includes(parley.failures)),
      [],
    );
  });

  it('sweep', async () => {
    const [tim, lance] = [await parley.agent('tim', {}), await serving('home')];
    await tim.request({ to: lance.id, ttl: 60 });
    await parley.ask('sweep', {});
    assertAllNeeded('sweep');
  });

  it('due: the rest of a graph is made whose maker died after its first task', async () => {
    const tim = await requester();
    const { graph } = graphOf({ soup: [], dinner: ['soup'] });
    const nodes = graph.nodes.map((node) => ({
      ...node,
      agent: undefined,
      capability: 'home.dinner',
      payload: { LARGE },
    }));
    // What waits for another is made together with what the other must know of it.
    const fault = broken(parley, by('tasks', 'TransactWriteItems'));
    assert.equal((await tim.call('POST', '/v1/graphs', { ...graph, nodes })).status, 500);
    fault.end();
    const ref = graphRef('default', graph.graphId);
    const due = Date.now() - 1;
    await parley.aws('dynamodb', 'UpdateItem', {
      TableName: parley.table,
      Key: { pk: { S: ref.pk }, sk: { S: ref.sk } },
      UpdateExpression: 'SET due = :due ADD v :one',
      ExpressionAttributeValues: { ':due': { N: String(due) }, ':one': { N: '1' } },
    });
    // The change of `due` brings it to the same function by itself, and the two may be in each other's way.
    await parley.ask('due', { Records: [{ messageId: randomUUID(), body: JSON.stringify({ ...ref, due }) }] });
    const grown = { soup: 'requested', dinner: 'waiting' };
    await eventually(async () => assert.deepEqual(await states(tim, graph.graphId), grown), PATIENCE_MS);
  });

  it('dead-letters', async () => {
    const tim = await parley.agent('tim-2', {});
    const taskId = await tim.request({ priority: 'high', payload: { task: 'home.status' } });
    await carriedOut('dead-letters', { project: 'default', group: taskId, body: { taskId, entry: 1 } });
    assertAllNeeded('dead-letters');
  });
});
