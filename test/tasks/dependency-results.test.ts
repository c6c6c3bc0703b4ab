import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { parseTrace } from '../../shared/kernel/trace.ts';
import { createTask } from '../../shared/tasks/commands/create-task.ts';
import type { Reply, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { taskFormat } from '../support/task-format.ts';
import { type TestOptions, testParley } from '../support/test-parley.ts';

type Wire = Reply['body'];

const kitchen = async (t: Parameters<typeof testParley>[0], needs: Record<string, string[]>, options?: TestOptions) => {
  const parley = await testParley(t, options);
  const requester = await parley.agent('requester', taskFormat);
  const cook = await parley.agent('cook', { ...taskFormat, capabilities: ['parse_recipe'] });
  const { graph, id } = graphOf(needs);
  assert.equal((await requester.call('POST', '/v1/graphs', graph)).status, 202);
  return { parley, requester, cook, graph, id };
};

const complete = async (agent: TestAgent, id: string, result: object): Promise<void> =>
  assert.equal((await agent.send({ id, status: 'completed', result })).status, 202);

const nextOf = (agent: TestAgent): Promise<Wire> =>
  eventually(async () => {
    const [task] = await agent.claim();
    assert.ok(task, 'nothing is to be done');
    return task;
  });

describe('results of dependencies', () => {
  it('marks the result of a dependency as missing after its retention, and delivers the task', async (t) => {
    const options = { config: { tasks: { ...config.tasks, retentionMs: 10_000 } } };
    const { parley, cook, id } = await kitchen(t, { soup: [], dinner: ['soup'] }, options);
    await nextOf(cook);
    await complete(cook, id('soup'), { dish: 'soup' });
    await eventually(async () =>
      assert.equal((await parley.admin.call('GET', `/v1/tasks/${id('dinner')}`)).body.state, 'requested'),
    );
    parley.clock.advance(120_000);
    const { message } = await nextOf(cook);
    assert.deepEqual(message.context.results, { [id('soup')]: { taskId: id('soup'), missing: true } });
  });

  it('does not give a task the result of a later task that reuses the id of its dependency', async (t) => {
    const options = { config: { tasks: { ...config.tasks, retentionMs: 10_000 } } };
    const { parley, requester, cook, id } = await kitchen(t, { soup: [], dinner: ['soup'] }, options);
    await nextOf(cook);
    await complete(cook, id('soup'), { dish: 'soup' });
    await eventually(async () =>
      assert.equal((await parley.admin.call('GET', `/v1/tasks/${id('dinner')}`)).body.state, 'requested'),
    );
    parley.clock.advance(120_000);
    const other = { id: id('soup'), type: 'parse_recipe', payload: {}, routing: { target: 'cook' } };
    assert.equal((await requester.send(other)).status, 202);
    await complete(cook, id('soup'), { dish: 'another' });
    const { message } = await nextOf(cook);
    assert.deepEqual(message.context.results, { [id('soup')]: { taskId: id('soup'), missing: true } });
  });

  it('leaves out results that the requester may not read, and denies them to the holder', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    await parley.agent('spy', { capabilities: [] });
    const mate = await parley.agent('mate', { capabilities: [] });
    const secret = await requester.request();
    const { deps } = parley.parley;
    const taskId = randomUUID();
    const asked = {
      from: 'spy',
      to: 'mate',
      capability: 'security.peek',
      domain: 'security',
      input: {},
      extensions: {},
    };
    await createTask(
      deps,
      { project: 'default', role: 'admin' },
      'round-table',
      {
        kind: 'request',
        messageId: taskId,
        taskId,
        fingerprint: taskId,
        priority: 'normal',
        ttlSeconds: 60,
        dependencyIds: [secret],
        ...asked,
      },
      parseTrace(undefined),
    );
    await worker.claim();
    await worker.complete(secret, { content: 'the gate is open' });
    const { message } = await nextOf(mate);
    assert.deepEqual(message.payload.results, {});
    assert.equal((await mate.call('GET', `/v1/tasks/${secret}`)).status, 404);
  });

  it('puts the smallest results into the message while they fit and the rest into cards', async (t) => {
    const { cook, id } = await kitchen(t, { a: [], b: [], c: [], dinner: ['a', 'b', 'c'] });
    assert.equal((await cook.claim({ max: 10 })).length, 3);
    const results: Record<string, object> = {
      a: { text: 'a'.repeat(90_000) },
      b: { text: 'b'.repeat(100) },
      c: { text: 'c'.repeat(80_000) },
    };
    for (const [name, result] of Object.entries(results)) await complete(cook, id(name), result);
    const { message } = await nextOf(cook);
    const told = (name: string) => message.context.results[id(name)].result;
    assert.deepEqual([told('b'), told('c')], [results.b, results.c]);
    const card = await cook.call('GET', `/v1/cards/${told('a').card_id}`);
    assert.deepEqual(card.body.content, results.a);
  });

  for (const [what, filler] of [
    ['hardly', 9_300],
    ['not at all', 9_900],
  ] as const) {
    it(`keeps a message within ten kilobytes when its room for results is: ${what}`, async (t) => {
      const parley = await testParley(t);
      const lead = await parley.agent('lead', messageRouting);
      const [coder, tester] = [
        await parley.agent('coder', messageRouting),
        await parley.agent('tester', messageRouting),
      ];
      const before = mrMessage('task-delegation', 'lead', 'coder');
      const payload = { task: 'x'.repeat(filler), context: { dependencies: [before.msg_id] } };
      const after = mrMessage('task-delegation', 'lead', 'tester', { payload });
      for (const message of [before, after]) assert.equal((await lead.send(message)).status, 202);
      await coder.claim();
      const result = { status: 'success', issues: ['y'.repeat(5000)] };
      const answer = mrMessage('result', 'coder', 'lead', { correlation_id: before.msg_id, payload: result });
      assert.equal((await coder.send(answer)).status, 202);
      const { message } = await nextOf(tester);
      assert.ok(Buffer.byteLength(JSON.stringify(message)) <= 10_240);
      const { results } = message.payload;
      if (filler > 9_500) return assert.equal(results, undefined);
      const whole = results.card_id ? (await tester.call('GET', results.uri)).body.content : results;
      const told = whole[before.msg_id].result;
      assert.deepEqual((await tester.call('GET', told.uri)).body.content, result);
    });
  }
});
