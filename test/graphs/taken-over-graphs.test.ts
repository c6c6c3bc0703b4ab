import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { kitchen } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

/** As an orchestrator kept it: the recipe is parsed, and the event waits for that. */
const halfDone = (overrides: object = {}, more: object = {}) => ({
  graphId: 'dinner',
  conversationId: 'conversation-1',
  nodes: [
    {
      taskId: 'dinner-1',
      agent: 'an-agent-elsewhere',
      capability: 'read_the_web',
      dependencies: [],
      status: 'completed',
      ...overrides,
    },
    { taskId: 'dinner-2', agent: 'cook', capability: 'parse_recipe', dependencies: ['dinner-1'], status: 'pending' },
    { taskId: 'dinner-3', agent: 'cook', capability: 'parse_recipe', dependencies: ['dinner-2'] },
  ],
  edges: [{ from: 'dinner-1', to: 'dinner-2' }],
  ...more,
});

describe('graph that is taken over half-way', () => {
  it('goes on behind the nodes that are completed, and hands their results on', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const graph = halfDone({ result: { title: 'Thai basil chicken' } });
    const reply = await orchestrator.call('POST', '/v1/graphs', graph);
    assert.deepEqual([reply.status, reply.body.status], [202, 'in_progress']);
    await settled(parley);
    const [{ message }, ...more] = await cook.claim({ max: 10 });
    assert.deepEqual([message.id, more], ['dinner-2', []]);
    const { result, agent } = message.context.results['dinner-1'];
    assert.deepEqual([result, agent], [{ title: 'Thai basil chicken' }, undefined]);
    assert.deepEqual((await cook.task('dinner-1')).result, { title: 'Thai basil chicken' });
    for (const id of ['dinner-2', 'dinner-3']) {
      assert.equal((await cook.send({ id, status: 'completed', result: { id } })).status, 202);
      await eventually(async () => assert.equal((await orchestrator.task(id)).status, 'completed'));
      if (id === 'dinner-2') assert.equal((await cook.claim({ wait: 20 }))[0].message.id, 'dinner-3');
    }
    const ended = (await orchestrator.call('GET', '/v1/graphs/dinner')).body;
    assert.deepEqual([ended.status, ended.nodes.length], ['completed', 3]);
  });

  it('tells a completed node as such, and puts it into no inbox', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    await orchestrator.call('POST', '/v1/graphs', halfDone());
    await settled(parley);
    const task = await orchestrator.task('dinner-1');
    assert.deepEqual([task.status, task.result, task.from], ['completed', {}, 'orchestrator']);
    assert.deepEqual(await orchestrator.inbox(), []);
    const { events } = (await parley.admin.call('GET', '/v1/events?limit=500')).body;
    const told = events.filter(({ data }: { data: { taskId?: string } }) => data.taskId === 'dinner-1');
    assert.deepEqual(
      told.map(({ type }: { type: string }) => type),
      ['task.requested', 'task.completed'],
    );
  });

  it('is a duplicate when it comes again, and another graph with another result', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const put = (graph: object) => orchestrator.call('POST', '/v1/graphs', graph);
    assert.equal((await put(halfDone({ result: 1 }))).status, 202);
    assert.equal((await put(halfDone({ result: 1 }))).status, 200);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => put(halfDone({ result: 2 })));
    const other = halfDone({ result: 1 }, { graphId: 'lunch' });
    await refusedWithoutTrace(parley, 409, 'id_reused', () => put(other));
  });

  it('ends at once where all nodes are completed', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const nodes = halfDone().nodes.map((node) => ({ ...node, status: 'completed', result: node.taskId }));
    const { body } = await orchestrator.call('POST', '/v1/graphs', { graphId: 'dinner', nodes });
    assert.equal(body.status, 'completed');
    await settled(parley);
    assert.ok((await orchestrator.call('GET', '/v1/graphs/dinner')).body.endedAt);
  });

  it('keeps what is completed when the rest is cancelled', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    await orchestrator.call('POST', '/v1/graphs', halfDone());
    await orchestrator.call('POST', '/v1/graphs/dinner/cancel');
    await settled(parley);
    const { nodes } = (await orchestrator.call('GET', '/v1/graphs/dinner')).body;
    assert.deepEqual(
      nodes.map(({ state }: { state: string }) => state),
      ['completed', 'cancelled', 'cancelled'],
    );
  });

  it('brings a large result of a completed node to whoever waits for it', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const result = { text: 'x'.repeat(50_000) };
    assert.equal((await orchestrator.call('POST', '/v1/graphs', halfDone({ result }))).status, 202);
    const [{ message }] = await cook.claim({ wait: 20 });
    assert.deepEqual(message.context.results['dinner-1'].result, result);
  });

  const refused: [what: string, overrides: object, path: string][] = [
    ['a node that is under way elsewhere', { status: 'in_progress' }, 'nodes[0].status'],
    ['a node that failed elsewhere', { status: 'failed' }, 'nodes[0].status'],
    ['a result of a node that is pending', { status: 'pending', agent: 'cook', result: 1 }, 'nodes[0].result'],
  ];
  for (const [what, overrides, path] of refused) {
    it(`rejects ${what}`, async (t) => {
      const parley = await testParley(t);
      const { orchestrator } = await kitchen(parley);
      const put = () => orchestrator.call('POST', '/v1/graphs', halfDone({ capability: 'parse_recipe', ...overrides }));
      const { body } = await refusedWithoutTrace(parley, 400, 'invalid_request', put);
      assert.deepEqual(
        body.issues.map((issue: { path: string }) => issue.path),
        [path],
      );
    });
  }
});
