import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { AwsCall } from '../../local/cloudformation-runner/index.ts';
import { domainProvidersRef } from '../../shared/identity/agents/domain-providers.ts';
import { batchRef } from '../../shared/model/batch.ts';
import { graphRef } from '../../shared/model/graph.ts';
import { taskRef } from '../../shared/model/task.ts';
import { listQueues } from '../../shared/ports/queue-names.ts';
import type { Key } from '../../shared/ports/records.ts';
import { a2aServer } from '../support/a2a-server.ts';
import { about, type TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import config from './app/parley.config.ts';
import { beginStory } from './dispatched-story.ts';
import { broken, by, heldOnce } from './faults.ts';
import { BY_CHANCE, needlessGrants, type PROVEN_ALONE } from './needless-grants.ts';
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

/** The time of a record has come, and the function for that is told, once or more often. */
const nowDue = async ({ pk, sk }: Key, tell = (message: object) => carriedOut('due', message)): Promise<void> => {
  const due = Date.now() - 1;
  await parley.aws('dynamodb', 'UpdateItem', {
    TableName: parley.table,
    Key: { pk: { S: pk }, sk: { S: sk } },
    UpdateExpression: 'SET due = :due ADD v :one',
    ExpressionAttributeValues: { ':due': { N: String(due) }, ':one': { N: '1' } },
  });
  await tell({ pk, sk, due });
};

/** Of what is played back together, one record stays. */
const leavesHalf = async (): Promise<void> => {
  const [tim, lance] = [await parley.agent(`tim-${randomUUID()}`, {}), await serving('home')];
  const id = await tim.request({ to: lance.id, payload: { task: 'home.status' } });
  const { pk, sk } = taskRef('default', id);
  const Key = { pk: { S: pk }, sk: { S: sk } };
  const { Item: image } = Object(await parley.aws('dynamodb', 'GetItem', { TableName: parley.table, Key }));
  const bad = { ...Key, v: { N: '1' }, error: { S: 'this is no JSON' } };
  const Records = [image, bad].map((NewImage) => ({ dynamodb: { Keys: Key, NewImage, SequenceNumber: '1' } }));
  await parley.s3('PUT', `/${parley.failures}/half`, JSON.stringify({ payload: JSON.stringify({ Records }) }));
  assert.deepEqual(await parley.ask('replay', { prefix: 'half' }), { replayed: 0, failed: 1 });
};

const assertAllNeeded = (name: (typeof PROVEN_ALONE)[number]): void => {
  const unused = parley.listUnusedGrants().filter(({ functionName }) => functionName === parley.findFunctionName(name));
  const needless = needlessGrants(unused, listQueues(config.projects));
  assert.deepEqual(
    needless.filter((grant) => !(grant in BY_CHANCE)),
    [],
  );
};

/** Does the same twice, the second time while the first has stored nothing yet. */
const atOnce = async (name: string, act: () => Promise<unknown>): Promise<void> => {
  const held = heldOnce(parley, by(name, 'PutObject'));
  const first = act();
  await held.reached;
  await act();
  held.goOn();
  await first;
};

/** What is left where the maker of a graph died after its first task. */
const halfGraph = async (): Promise<{ tim: TestAgent; graphId: string }> => {
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
  return { tim, graphId: graph.graphId };
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
    await leavesHalf();
    assertAllNeeded('replay');
  });

  it('sweep', async () => {
    const [tim, lance] = [await parley.agent('tim', {}), await serving('home')];
    await tim.request({ to: lance.id, ttl: 60 });
    await tim.request({ to: lance.id });
    assert.equal((await lance.claim({ wait: 20 })).length, 1);
    await parley.ask('sweep', { measuresQueues: true });
    assertAllNeeded('sweep');
    const logs = join(parley.dir, 'logs');
    const [log = ''] = readdirSync(logs).filter((name) => name.includes('sweep'));
    await eventually(() => {
      for (const name of ['queue_depth', 'queue_in_flight', 'queue_oldest_age_ms'])
        assert.match(readFileSync(join(logs, log), 'utf8'), new RegExp(`"service":"messages".*"${name}":`));
    });
  });

  it('due: the rest of a graph is made whose maker died after its first task', async () => {
    const { tim, graphId } = await halfGraph();
    await nowDue(graphRef('default', graphId));
    assert.deepEqual(await states(tim, graphId), { soup: 'requested', dinner: 'waiting' });
  });

  it('due: of two that make it at the same time, one leaves nothing of what it stored for it', async () => {
    const { tim, graphId } = await halfGraph();
    await nowDue(graphRef('default', graphId), (message) => atOnce('due', () => carriedOut('due', message)));
    assert.deepEqual(await states(tim, graphId), { soup: 'requested', dinner: 'waiting' });
  });

  it('due: so is the rest of a batch', async () => {
    const tim = await requester();
    const batch = { batchId: randomUUID(), tasks: [tfRequest({ type: 'home.dinner' })] };
    const fault = broken(parley, by('tasks', 'TransactWriteItems'));
    assert.equal((await tim.call('POST', '/v1/batches', batch)).status, 500);
    fault.end();
    await nowDue(batchRef('default', batch.batchId));
    assert.equal((await tim.task(batch.tasks[0]?.id ?? '')).state, 'requested');
  });

  it('due: a task that nobody could do goes to who comes to declare its capability', async () => {
    const tim = await parley.agent(`tim-${randomUUID()}`, {});
    const capability = 'security.audit';
    const id = await tim.request({ payload: { task: capability } });
    const bors = await parley.agent(`bors-${randomUUID()}`, { capabilities: [capability] });
    // The first time may only count who declared what before such records were kept.
    await nowDue(domainProvidersRef('default', 'security'));
    await nowDue(domainProvidersRef('default', 'security'));
    const [task] = await bors.claim({ wait: 20 });
    assert.equal(task?.message.id, id);
  });

  it('due: a message to many reaches each of them, also where it takes the place of an older one', async () => {
    const coordinator = await parley.agent(`arthur-${randomUUID()}`, { ...messageRouting, role: 'coordinator' });
    const listener = await parley.agent(`kay-${randomUUID()}`, { ...messageRouting, domains: ['home'], inboxLimit: 1 });
    for (const message of [1, 2].map(() => mrMessage('status-update', coordinator.id, 'all'))) {
      const header = { 'parley-broadcast': 'domain:home' };
      const { body } = await coordinator.call('POST', '/v1/messages', message, header);
      await eventually(async () => {
        assert.ok((await coordinator.call('GET', `/v1/broadcasts/${body.broadcastId}`)).body.isDone);
      }, PATIENCE_MS);
      const { messages } = (await listener.call('GET', '/v1/inbox?max=10')).body;
      assert.deepEqual(
        messages.map(({ msg_id }: { msg_id: string }) => msg_id),
        [message.msg_id],
      );
    }
  });

  it('due: a bulk operation goes on behind its first page', async () => {
    const tim = await parley.agent(`tim-${randomUUID()}`, {});
    for (let sent = 0; sent < 110; sent += 10) await Promise.all(Array.from({ length: 10 }, () => tim.request()));
    const filter = { requester: tim.id };
    await eventually(async () => {
      const { body } = await tim.call('POST', '/v1/tasks/cancel', { filter, dryRun: true });
      assert.equal(body.count?.value, 110);
    }, PATIENCE_MS);
    const { operationId } = (await tim.call('POST', '/v1/tasks/cancel', { filter })).body;
    await eventually(async () => {
      const { body } = await tim.call('GET', `/v1/operations/${operationId}`);
      assert.partialDeepStrictEqual(body, { status: 'completed', changed: 110 });
    }, PATIENCE_MS);
  });

  it('due: an agent that Parley calls does its tasks, and leaves to others what is not urgent while it has some', async () => {
    const server = await a2aServer({ after }, ({ text, say }) => {
      if (text.includes('long')) say('WORKING', 'For long.');
      else say('COMPLETED', 'Done.');
    });
    const remote = `remote-${randomUUID()}`;
    const registration = { dialect: 'a2a', transport: 'a2a', url: server.address, domains: ['home'] };
    const tim = await parley.agent(`tim-${randomUUID()}`, taskFormat);
    assert.equal((await parley.admin.call('PUT', `/v1/agents/${remote}`, registration)).status, 201);
    const ask = async (payload: object, more: object = {}): Promise<string> => {
      const request = tfRequest({ type: 'home.status', payload, ...more });
      assert.ok((await tim.call('POST', '/v1/tasks', request)).status < 300);
      return request.id;
    };
    const wanted = async (id: string, state: string): Promise<void> => {
      await eventually(async () => assert.equal((await tim.task(id)).state, state), PATIENCE_MS);
    };
    await wanted(await ask({ how: 'soon' }), 'completed');
    const long = await ask({ how: 'long' });
    await wanted(long, 'in_progress');
    const low = await ask({ how: 'later' }, { priority: 'low' });
    const filter = { requester: tim.id };
    assert.equal((await parley.admin.call('POST', '/v1/tasks/cancel', { filter })).status, 202);
    await wanted(long, 'cancelled');
    await wanted(low, 'cancelled');
    await eventually(() => assertAllNeeded('due'), PATIENCE_MS);
    assert.equal((await parley.admin.call('DELETE', `/v1/agents/${remote}`)).status, 204);
  });

  it('tasks and claims: what is needed only where two bring the same large content at once', async () => {
    const [tim, lance] = [await requester(), await serving('home')];
    const request = tfRequest({ routing: { target: lance.id }, payload: { LARGE } });
    await atOnce('tasks', async () => {
      assert.ok((await tim.call('POST', '/v1/tasks', request)).status < 300);
    });
    const claimed = await lance.claim({ wait: 20 });
    assert.deepEqual(
      claimed.map(({ message }) => message.id),
      [request.id],
    );
    const result = about('task.result', lance.id, request.id, { status: 'completed', result: { content: LARGE } });
    await atOnce('claims', () => lance.claim({ messages: [result] }));
    assert.equal((await tim.task(request.id)).state, 'completed');
    const needless = needlessGrants(parley.listUnusedGrants(), listQueues(config.projects));
    for (const name of ['tasks', 'claims']) assert.ok(!needless.includes(`${name} s3:DeleteObject content`));
  });

  it('dead-letters', async () => {
    const tim = await parley.agent('tim-2', {});
    const taskId = await tim.request({ priority: 'high', payload: { task: 'home.status' } });
    await carriedOut('dead-letters', { project: 'default', group: taskId, body: { taskId, queueGeneration: 1 } });
    assertAllNeeded('dead-letters');
  });
});
