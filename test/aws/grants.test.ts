import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { AwsCall } from '../../local/template/gateway/aws-call.ts';
import { graphRef } from '../../shared/graphs/graph.ts';
import { laneNames } from '../../shared/lane-names.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
import { taskFormat } from '../support/task-format.ts';
import config from './app/parley.config.ts';
import { beginStory } from './dispatched-story.ts';
import { broken, by } from './faults.ts';
import { needlessGrants } from './needless-grants.ts';
import { runParley } from './running-parley.ts';

const parley = await runParley({ after }, { streamRetries: 1 });

const PATIENCE_MS = 60_000;
const LARGE = 'The wall holds. '.repeat(1000);

const requester = (): Promise<TestAgent> => parley.agent(`tim-${randomUUID()}`, taskFormat);
const serving = (domain: string): Promise<TestAgent> => parley.agent(`lance-${randomUUID()}`, { domains: [domain] });

/** A message of the queue that the function reads. */
const carriedOut = async (name: string, message: object): Promise<void> => {
  const records = [{ messageId: randomUUID(), body: JSON.stringify(message) }];
  assert.deepEqual(await parley.ask(name, { Records: records }), { batchItemFailures: [] });
};

const assertAllNeeded = (name: string): void => {
  const unused = parley.unusedGrants().filter(({ functionName }) => functionName === parley.functionNamed(name));
  assert.deepEqual(needlessGrants(unused, laneNames(config.projects)), []);
};

describe('what no end-to-end test can bring about works with the grants that there are, and needs every one of', {
  concurrency: 1,
}, () => {
  it('dispatch: whatever follows from changes', async () => {
    const story = await beginStory(parley);
    await story.goesOn();
    await eventually(() => story.hasEnded(), PATIENCE_MS);
    assertAllNeeded('dispatch');
  });

  it('replay: all of that, where dispatch could do none of it', { timeout: 120_000 }, async () => {
    const story = await beginStory(parley);
    const keepsFailure = ({ operation, resource }: AwsCall): boolean =>
      operation === 'PutObject' && resource === parley.failures;
    const isEffect = (call: AwsCall): boolean => !keepsFailure(call) && !/Stream|Shard|Records/.test(call.operation);
    const fault = broken(parley, (call) => by('dispatch')(call) && isEffect(call));
    await story.goesOn();
    await eventually(async () => {
      await parley.ask('replay', {});
      await story.hasEnded();
    }, PATIENCE_MS);
    fault.end();
    assertAllNeeded('replay');
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
    await carriedOut('due', { ...ref, due });
    assert.deepEqual(await states(tim, graph.graphId), { soup: 'requested', dinner: 'waiting' });
  });

  it('dead-letters', async () => {
    const tim = await parley.agent('tim-2', {});
    const taskId = await tim.request({ priority: 'high', payload: { task: 'home.status' } });
    await carriedOut('dead-letters', { project: 'default', group: taskId, body: { taskId, entry: 1 } });
    assertAllNeeded('dead-letters');
  });
});
