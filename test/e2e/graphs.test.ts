import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { graphOf, states } from '../support/graphs.ts';
import { deployment } from './deployment.ts';

const { agent, admin } = await deployment();
const taskFormat = { dialect: 'task-format', capabilities: [] };

/** An orchestrator and a cook, and a graph of which the cook does every node. */
const kitchen = async (needs: Record<string, string[]>, payload: object = {}) => {
  const [orchestrator, cook] = [await agent('orchestrator', taskFormat), await agent('cook', taskFormat)];
  const { graph, id } = graphOf(needs);
  const nodes = graph.nodes.map((node) => ({ ...node, agent: cook.id, payload: { ...payload, id: node.taskId } }));
  return { orchestrator, cook, id, graph: { ...graph, nodes } };
};

const PATIENCE_MS = 30_000;

describe('a task graph', () => {
  it('is worked off from the front to the back, and each node once', async () => {
    // Large enough that neither the requests nor their inputs fit into records.
    const needs = { soup: [], salad: [], roast: ['soup', 'salad'], bill: ['roast'] };
    const { orchestrator, cook, graph } = await kitchen(needs, { recipe: 'x'.repeat(6000) });
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 200);
    const done: string[] = [];
    await eventually(async () => {
      for (const { message } of await cook.claim({ max: 4, wait: 5 })) {
        assert.equal((await cook.send({ id: message.id, status: 'completed', result: {} })).status, 202);
        done.push(message.id.slice(9));
      }
      const { body } = await orchestrator.call('GET', `/v1/graphs/${graph.graphId}`);
      assert.equal(body.status, 'completed');
    }, PATIENCE_MS);
    assert.deepEqual(done.slice(0, 2).toSorted(), ['salad', 'soup']);
    assert.deepEqual(done.slice(2), ['roast', 'bill']);
  });

  it('fails behind a failed node, and goes on when that is run again', async () => {
    const { orchestrator, cook, graph, id } = await kitchen({ soup: [], roast: ['soup'] });
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    const error = { code: 'INVALID_INPUT', message: 'burnt' };
    assert.equal((await cook.send({ id: id('soup'), status: 'failed', error })).status, 202);
    const reached = (wanted: object) =>
      eventually(async () => assert.deepEqual(await states(orchestrator, graph.graphId), wanted), PATIENCE_MS);
    await reached({ soup: 'failed', roast: 'failed' });
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${id('soup')}/retry`)).status, 202);
    await reached({ soup: 'requested', roast: 'waiting' });
    assert.equal((await cook.send({ id: id('soup'), status: 'completed', result: {} })).status, 202);
    await reached({ soup: 'completed', roast: 'requested' });
    assert.equal((await cook.claim({ wait: 20 }))[0].message.id, id('roast'));
  });

  it('is cancelled with all its open nodes, and told to have ended', async () => {
    const { orchestrator, cook, graph, id } = await kitchen({ soup: [], roast: ['soup'], bill: ['roast'] });
    assert.equal((await orchestrator.call('POST', '/v1/graphs', graph)).status, 202);
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    assert.equal((await cook.send({ id: id('soup'), status: 'completed', result: {} })).status, 202);
    const path = `/v1/graphs/${graph.graphId}`;
    const { status, body } = await orchestrator.call('POST', `${path}/cancel`);
    assert.deepEqual([status, body.status], [200, 'cancelled']);
    assert.deepEqual(await states(orchestrator, graph.graphId), {
      soup: 'completed',
      roast: 'cancelled',
      bill: 'cancelled',
    });
    await eventually(async () => {
      const { events } = (await admin.call('GET', '/v1/events?type=graph.ended&limit=500')).body;
      const told = events.filter(({ data }: { data: { graphId: string } }) => data.graphId === graph.graphId);
      assert.equal(told[0]?.data.status, 'cancelled');
    }, PATIENCE_MS);
    assert.ok((await orchestrator.call('GET', path)).body.endedAt);
    assert.deepEqual(await cook.claim(), []);
  });

  it('is refused as a whole where it goes round', async () => {
    const { orchestrator, graph, id } = await kitchen({ soup: ['roast'], roast: ['soup'] });
    const reply = await orchestrator.call('POST', '/v1/graphs', graph);
    assert.deepEqual([reply.status, reply.body.code], [422, 'task_graph_cycle']);
    assert.equal((await orchestrator.call('GET', `/v1/tasks/${id('soup')}`)).status, 404);
  });
});
