import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
import { kitchen } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const DINNER = { soup: [], salad: [], roast: ['soup', 'salad'], bill: ['roast'] };

const submitted = async (
  t: Parameters<typeof testParley>[0],
  needs: Record<string, string[]>,
  overrides: Record<string, unknown> = {},
) => {
  const parley = await testParley(t);
  const { orchestrator, cook } = await kitchen(parley);
  const { graph, id } = graphOf(needs, overrides);
  const reply = await orchestrator.call('POST', '/v1/graphs', graph);
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return { parley, orchestrator, cook, graph, id };
};

const claimed = async (cook: TestAgent): Promise<string[]> =>
  (await cook.claim({ max: 10 })).map(({ message }) => message.payload.name).toSorted();

const complete = async (cook: TestAgent, taskId: string): Promise<void> => {
  const { status, body } = await cook.send({ id: taskId, status: 'completed' });
  assert.equal(status, 202, JSON.stringify(body));
};

const fail = (cook: TestAgent, taskId: string) =>
  cook.send({ id: taskId, status: 'failed', error: { code: 'INVALID_INPUT', message: 'burnt' } });

const reached = async ({ parley, orchestrator, graph }: Awaited<ReturnType<typeof submitted>>, wanted: object) => {
  await settled(parley);
  await eventually(async () => assert.deepEqual(await states(orchestrator, graph.graphId), wanted));
};

describe('task graph', () => {
  it('queues a node when all its dependencies are completed, and not before', async (t) => {
    const dinner = await submitted(t, DINNER);
    const { cook, id, orchestrator, graph } = dinner;
    await reached(dinner, { soup: 'requested', salad: 'requested', roast: 'waiting', bill: 'waiting' });
    assert.deepEqual(await claimed(cook), ['salad', 'soup']);
    await complete(cook, id('soup'));
    await settled(dinner.parley);
    assert.deepEqual(await claimed(cook), []);
    assertRefused(await cook.send({ id: id('roast'), status: 'completed' }), 409, 'task_waiting');
    assertRefused(await cook.send({ id: id('roast'), status: 'pending' }), 409, 'task_waiting');
    await complete(cook, id('salad'));
    await reached(dinner, { soup: 'completed', salad: 'completed', roast: 'requested', bill: 'waiting' });
    assert.deepEqual(await claimed(cook), ['roast']);
    await complete(cook, id('roast'));
    await reached(dinner, { soup: 'completed', salad: 'completed', roast: 'completed', bill: 'requested' });
    assert.deepEqual(await claimed(cook), ['bill']);
    await complete(cook, id('bill'));
    const { body } = await orchestrator.call('GET', `/v1/graphs/${graph.graphId}`);
    assert.equal(body.status, 'completed');
    const outcomes = (await orchestrator.inbox()).filter(({ type }) => type !== 'parley.graph');
    const told = outcomes.map((outcome) => outcome.id.slice(9));
    assert.deepEqual(told.toSorted(), ['bill', 'roast', 'salad', 'soup']);
  });

  it('shows the progress of each node and the question of its holder', async (t) => {
    const { cook, id, orchestrator, graph } = await submitted(t, { soup: [], salad: [] });
    await claimed(cook);
    await cook.send({ id: id('soup'), status: 'in_progress', metadata: { progress: 40, message: 'it simmers' } });
    await cook.send({ id: id('salad'), status: 'input_required', input: { prompt: 'Which oil?' } });
    const [soup, salad] = (await orchestrator.call('GET', `/v1/graphs/${graph.graphId}`)).body.nodes;
    assert.deepEqual([soup.progress.percent, soup.progress.message], [40, 'it simmers']);
    assert.deepEqual([salad.status, salad.input], ['input_required', { prompt: 'Which oil?' }]);
  });

  it('accepts the dependencies of a graph as edges', async (t) => {
    const { graph, id } = graphOf({ roast: [], soup: [] });
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const edges = [{ from: id('soup'), to: id('roast') }];
    assert.equal((await orchestrator.call('POST', '/v1/graphs', { ...graph, edges })).status, 202);
    assert.deepEqual(await states(orchestrator, graph.graphId), { roast: 'waiting', soup: 'requested' });
    const { body } = await orchestrator.call('GET', `/v1/graphs/${graph.graphId}`);
    assert.deepEqual([body.edges, body.conversationId], [edges, graph.conversationId]);
    assert.deepEqual((await orchestrator.task(id('roast'))).dependencies, [id('soup')]);
  });

  it('starts the time to live of a node when the node is queued', async (t) => {
    const dinner = await submitted(t, { soup: [], roast: ['soup'] });
    const { cook, id, parley, orchestrator } = dinner;
    await claimed(cook);
    for (let hours = 0; hours < 5; hours++) {
      // The soup is held for longer than the time to live of the roast.
      for (let minutes = 0; minutes < 60; minutes += 4) {
        parley.clock.advance(4 * 60_000);
        await cook.call('POST', `/v1/tasks/${id('soup')}/renew`);
      }
    }
    await complete(cook, id('soup'));
    await reached(dinner, { soup: 'completed', roast: 'requested' });
    const { expiresAt } = await orchestrator.task(id('roast'));
    assert.equal(Date.parse(expiresAt), parley.clock.now() + 3_600_000);
    parley.clock.advance(3_600_000);
    await reached(dinner, { soup: 'completed', roast: 'expired' });
  });

  it('fails the dependents of a failed node, and names the dependency in their errors', async (t) => {
    const dinner = await submitted(t, DINNER);
    const { cook, id, orchestrator } = dinner;
    await claimed(cook);
    await fail(cook, id('soup'));
    await reached(dinner, { soup: 'failed', salad: 'claimed', roast: 'failed', bill: 'failed' });
    const roast = (await orchestrator.inbox()).find((outcome) => outcome.id === id('roast'));
    assert.deepEqual(
      [roast.error.code, roast.error.recoverable, roast.error.details],
      ['COORDINATION_FAILED', false, { taskId: id('soup'), status: 'failed' }],
    );
    assert.deepEqual(await claimed(cook), []);
    assert.equal((await orchestrator.call('GET', '/v1/dead-letters')).body.tasks.length, 3);
  });

  it('skips the dependents of a failed node if the graph or the node asks for it', async (t) => {
    const dinner = await submitted(t, DINNER, { onFailure: 'skip' });
    await claimed(dinner.cook);
    await fail(dinner.cook, dinner.id('soup'));
    await reached(dinner, { soup: 'failed', salad: 'claimed', roast: 'cancelled', bill: 'cancelled' });
    assert.equal((await dinner.orchestrator.call('GET', '/v1/dead-letters')).body.tasks.length, 1);
    const { graph, id } = graphOf({ soup: [], roast: ['soup'], salad: ['soup'] });
    const nodes = graph.nodes.map((node) => (node.taskId === id('salad') ? { ...node, onFailure: 'skip' } : node));
    assert.equal((await dinner.orchestrator.call('POST', '/v1/graphs', { ...graph, nodes })).status, 202);
    await claimed(dinner.cook);
    await fail(dinner.cook, id('soup'));
    await reached({ ...dinner, graph }, { soup: 'failed', roast: 'failed', salad: 'cancelled' });
  });

  it('reopens the dependents of a failed node when that is retried', async (t) => {
    for (const onFailure of ['fail', 'skip']) {
      const dinner = await submitted(t, DINNER, { onFailure });
      const { cook, id, orchestrator } = dinner;
      await claimed(cook);
      await complete(cook, id('salad'));
      await fail(cook, id('soup'));
      const ended = onFailure === 'fail' ? 'failed' : 'cancelled';
      await reached(dinner, { soup: 'failed', salad: 'completed', roast: ended, bill: ended });
      assert.equal((await orchestrator.call('POST', `/v1/tasks/${id('soup')}/retry`)).status, 202);
      await reached(dinner, { soup: 'requested', salad: 'completed', roast: 'waiting', bill: 'waiting' });
      await claimed(cook);
      await complete(cook, id('soup'));
      await reached(dinner, { soup: 'completed', salad: 'completed', roast: 'requested', bill: 'waiting' });
      assert.deepEqual(await claimed(cook), ['roast']);
    }
  });

  it('fails a retried node again while its dependency is still failed', async (t) => {
    const dinner = await submitted(t, { soup: [], roast: ['soup'] });
    const { cook, id, orchestrator } = dinner;
    await claimed(cook);
    await fail(cook, id('soup'));
    await reached(dinner, { soup: 'failed', roast: 'failed' });
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${id('roast')}/retry`)).status, 202);
    await reached(dinner, { soup: 'failed', roast: 'failed' });
    assert.deepEqual(await claimed(cook), []);
  });

  it('fails the dependents of a cancelled or expired node, and cancels a waiting node on request', async (t) => {
    const dinner = await submitted(t, { soup: [], salad: [], roast: ['soup'], cheese: ['salad'], bill: ['cheese'] });
    const { id, orchestrator, parley } = dinner;
    const cancel = (name: string) => orchestrator.call('POST', `/v1/tasks/${id(name)}/cancel`);
    assert.deepEqual([(await cancel('soup')).status, (await cancel('cheese')).status], [200, 200]);
    const after = { soup: 'cancelled', roast: 'failed', cheese: 'cancelled', bill: 'failed' };
    await reached(dinner, { ...after, salad: 'requested' });
    parley.clock.advance(3_600_000);
    await reached(dinner, { ...after, salad: 'expired' });
  });

  it('accepts a repeated graph once, and hides it from other agents', async (t) => {
    const { orchestrator, graph, cook, parley } = await submitted(t, DINNER);
    const stranger = await parley.agent('stranger', { dialect: 'task-format' });
    const again = await orchestrator.call('POST', '/v1/graphs', graph);
    assert.equal(again.status, 200);
    assert.equal((await claimed(cook)).length, 2);
    assertRefused(await orchestrator.call('POST', '/v1/graphs', { ...graph, onFailure: 'skip' }), 409, 'id_reused');
    assertRefused(await stranger.call('GET', `/v1/graphs/${graph.graphId}`), 404, 'graph_not_found');
  });

  it('keeps a node waiting if its failed dependency is retried in the same moment', async (t) => {
    const undone = { retry: async () => {}, isForgotten: false };
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          // From then on no end of a dependency is propagated.
          query: async (query) =>
            undone.isForgotten && query.prefix === 'dependent#' ? [] : ports.records.query(query),
          update: async (ref, change, ...rest) => {
            const isEnd = change.set?.status === 'failed' && JSON.stringify(change).includes('dependency_failed');
            if (isEnd && !undone.isForgotten) {
              undone.isForgotten = true;
              await undone.retry();
            }
            return ports.records.update(ref, change, ...rest);
          },
        },
      }),
    });
    const { orchestrator, cook } = await kitchen(parley);
    const { graph, id } = graphOf({ soup: [], roast: ['soup'] });
    undone.retry = async () => {
      assert.equal((await orchestrator.call('POST', `/v1/tasks/${id('soup')}/retry`)).status, 202);
    };
    await orchestrator.call('POST', '/v1/graphs', graph);
    await claimed(cook);
    await fail(cook, id('soup'));
    await eventually(async () =>
      assert.deepEqual(await states(orchestrator, graph.graphId), { soup: 'requested', roast: 'waiting' }),
    );
  });

  it('checks the dependencies of a waiting node every day, in case a notification is lost', async (t) => {
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          query: async (query) => (query.prefix === 'dependent#' ? [] : ports.records.query(query)),
        },
      }),
    });
    const { orchestrator, cook } = await kitchen(parley);
    const { graph, id } = graphOf({ soup: [], roast: ['soup'] });
    await orchestrator.call('POST', '/v1/graphs', graph);
    await claimed(cook);
    await cook.send({ id: id('soup'), status: 'input_required', input: { prompt: 'salt?' } });
    parley.clock.advance(86_400_000);
    await settled(parley);
    assert.deepEqual(await states(orchestrator, graph.graphId), { soup: 'input_required', roast: 'waiting' });
    await orchestrator.call('POST', `/v1/tasks/${id('soup')}/input`, { input: 'yes' });
    await complete(cook, id('soup'));
    await settled(parley);
    assert.deepEqual(await states(orchestrator, graph.graphId), { soup: 'completed', roast: 'waiting' });
    parley.clock.advance(86_400_000);
    await eventually(async () => assert.equal((await states(orchestrator, graph.graphId)).roast, 'requested'));
  });
});
