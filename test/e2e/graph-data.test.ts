import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reply, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { Worker } from '../support/ground.ts';
import { mrMessage } from '../support/message-routing.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();
const speaking = (dialect: string) => ({ dialect, capabilities: [] });
const PATIENCE_MS = 30_000;

type Wire = Reply['body'];

/** What an agent of each dialect is handed, and where it finds the results of what came before. */
const READERS: Record<string, (reader: TestAgent) => Promise<Wire>> = {
  'round-table': async (reader) => (await reader.claim({ wait: 20 }))[0]?.message.payload,
  'agent-os': async (reader) => (await reader.claim({ wait: 20 }))[0]?.message.payload,
  'message-routing': async (reader) => (await reader.claim({ wait: 20 }))[0]?.message.payload,
  'task-format': async (reader) => (await reader.claim({ wait: 20 }))[0]?.message.context,
  'common-ground': async (reader) => (await new Worker(reader).take({ wait: 20 })).inbox[0].payload,
};

const SOUP = { id: '', status: 'completed', result: { dish: 'soup' } };
const MENU = { name: 'menu.md', type: 'text/markdown', content: '# Menu' };
const LARGE = { text: 'The wall holds. '.repeat(10_000) };

/** A soup and a long recipe are done; a dinner that needs both is next, and then the bill. */
const dinner = async (dialect: string) => {
  const tim = await agent('tim', speaking('task-format'));
  const cook = await agent('cook', speaking('task-format'));
  const reader = await agent('reader', speaking(dialect));
  const { graph, id } = graphOf({ soup: [], recipe: [], dinner: ['soup', 'recipe'], bill: ['dinner'] });
  const nodes = graph.nodes.map((node) => ({ ...node, agent: node.taskId === id('dinner') ? reader.id : cook.id }));
  assert.equal((await tim.call('POST', '/v1/graphs', { ...graph, nodes })).status, 202);
  assert.equal((await cook.claim({ max: 2, wait: 20 })).length > 0, true);
  const done = async (message: object): Promise<void> => assert.equal((await cook.send(message)).status, 202);
  await done({ ...SOUP, id: id('soup'), artifacts: [MENU] });
  await done({ id: id('recipe'), status: 'completed', result: LARGE });
  return { tim, cook, reader, id, graphId: graph.graphId };
};

const statusOf = async (reader: TestAgent, path: string): Promise<number> => (await reader.call('GET', path)).status;

describe('a node of a graph', () => {
  for (const [dialect, read] of Object.entries(READERS)) {
    it(`is handed the results of those that it depends on, by their names, in ${dialect}`, async () => {
      const { cook, reader, id } = await dinner(dialect);
      const { results } = await read(reader);
      const { soup, recipe } = { soup: results?.[id('soup')], recipe: results?.[id('recipe')] };
      assert.deepEqual([soup?.taskId, soup?.agent, soup?.result], [id('soup'), cook.id, SOUP.result]);
      const [{ name, type, uri }] = soup.artifacts;
      assert.deepEqual({ name, type }, { name: MENU.name, type: MENU.type });
      assert.equal((await reader.call('GET', uri)).body, MENU.content);
      const card = await reader.call('GET', recipe.result.uri);
      assert.deepEqual([card.status, card.body.content], [200, LARGE]);
      assert.deepEqual(Object.keys(results), [id('soup'), id('recipe')]);
    });
  }

  it('lets its holder read the tasks before it and the graph, as long as it has the node in hand, and nobody else', async () => {
    const { tim, cook, reader, id, graphId } = await dinner('task-format');
    const stranger = await agent('stranger', speaking('task-format'));
    const [soup, graph] = [`/v1/tasks/${id('soup')}`, `/v1/graphs/${graphId}`];
    assert.deepEqual([await statusOf(reader, soup), await statusOf(reader, graph)], [404, 404]);
    const [task] = await reader.claim({ wait: 20 });
    assert.equal(task.graphId, graphId);
    const read = await reader.call('GET', soup);
    assert.deepEqual([read.status, read.body.result], [200, SOUP.result]);
    assert.equal(await statusOf(reader, `${soup}/artifacts/${MENU.name}`), 200);
    assert.equal(await statusOf(reader, `/v1/tasks/${id('bill')}`), 404);
    assert.equal((await reader.call('POST', `${soup}/cancel`)).status, 404);
    const { nodes } = (await reader.call('GET', graph)).body;
    const shown = (name: string) => nodes.find(({ taskId }: Wire) => taskId === id(name));
    assert.deepEqual([shown('dinner').agent, shown('soup').agent], [reader.id, cook.id]);
    assert.deepEqual(shown('bill'), { taskId: id('bill'), dependencies: [id('dinner')], status: 'pending' });
    assert.equal((await reader.call('POST', `${graph}/cancel`)).status, 404);
    assert.deepEqual([await statusOf(stranger, soup), await statusOf(stranger, graph)], [404, 404]);
    assert.deepEqual([await statusOf(tim, soup), await statusOf(tim, graph)], [200, 200]);
    assert.equal((await reader.send({ id: id('dinner'), status: 'completed', result: {} })).status, 202);
    await eventually(
      async () => assert.deepEqual([await statusOf(reader, soup), await statusOf(reader, graph)], [404, 404]),
      PATIENCE_MS,
    );
  });

  it('is handed the same with each attempt', async () => {
    const { reader, id } = await dinner('task-format');
    const [first] = await reader.claim({ wait: 20 });
    const error = { code: 'AGENT_BUSY', message: 'no hands' };
    assert.equal((await reader.send({ id: id('dinner'), status: 'failed', error })).status, 202);
    const [second] = await reader.claim({ wait: 20 });
    assert.equal(second.attempt, 2);
    assert.deepEqual(second.message.context.results[id('soup')].result, SOUP.result);
    assert.deepEqual(second.message.context.results, first.message.context.results);
  });
});

describe('a delegation that depends on others', () => {
  it('is handed their results by the short ids that it names', async () => {
    const coordinator = await agent('coordinator', speaking('message-routing'));
    const [coder, tester] = [
      await agent('coder', speaking('message-routing')),
      await agent('tester', speaking('message-routing')),
    ];
    const before = mrMessage('task-delegation', coordinator.id, coder.id);
    const context = { files: [], dependencies: [before.msg_id] };
    const after = mrMessage('task-delegation', coordinator.id, tester.id, { payload: { task: 'Test it', context } });
    for (const message of [before, after]) assert.equal((await coordinator.send(message)).status, 202);
    assert.equal((await coder.claim({ wait: 20 })).length, 1);
    const result = { status: 'success', deliverables: { files_modified: ['/a.ts'] } };
    const answer = mrMessage('result', coder.id, coordinator.id, { correlation_id: before.msg_id, payload: result });
    assert.equal((await coder.send(answer)).status, 202);
    const [task] = await tester.claim({ wait: 20 });
    const { taskId, ...told } = task.message.payload.results[before.msg_id];
    assert.deepEqual(told, { agent: coder.id, result });
    assert.equal(await statusOf(tester, `/v1/tasks/${taskId}`), 200);
    assert.ok(Buffer.byteLength(JSON.stringify(task.message)) <= 10_240);
  });
});
