import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { cardOf } from '../support/cards.ts';
import { enqueued, groundAgent, type Held, Worker } from '../support/ground.ts';
import { deployment } from './deployment.ts';
import { turnStream } from './event-stream.ts';

const parley = await deployment();

const say = async (agent: TestAgent, { agent_turn_id }: Held, ...chunks: [index: number, content: string][]) => {
  const subject = `cg.v1r3.default.public.str.agent.${agent.id}.chunk`;
  const messages = chunks.map(([index, content]) => ({
    subject,
    payload: { agent_turn_id, step_id: 's1', chunk_type: 'content', content, index },
  }));
  const { body } = await agent.call('POST', '/v1/messages', messages.length === 1 ? messages[0] : { messages });
  for (const { status } of body.results ?? []) assert.equal(status, 202, JSON.stringify(body));
};

describe('the stream of a turn', () => {
  it('tells a reader what the agent says, in order, while it says it, and when the turn is over', async () => {
    const [arthur, merlin] = [await groundAgent(parley, 'arthur'), await groundAgent(parley, 'merlin')];
    const worker = new Worker(merlin);
    const turn = await enqueued(arthur, merlin.id);
    const held = await worker.take({ wait: 10 });
    await worker.ok(held, 'start');
    const stream = turnStream(parley.address, arthur.key, turn);
    const heard: string[] = [];
    const listen = async (count: number) => {
      while (heard.length < count) heard.push((await stream.next()).value?.content ?? '');
    };
    await say(merlin, held, [0, 'Once ']);
    await listen(1);
    await say(merlin, held, [3, 'time '], [1, 'upon '], [2, 'a ']);
    await listen(4);
    assert.equal(heard.join(''), 'Once upon a time ');
    await worker.deliver(held);
    const { value } = await stream.next();
    assert.equal(value?.status, 'success');
  });
});

describe('the output box of a turn', () => {
  it('is closed to whoever lost the turn', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    await enqueued(parley.admin, merlin.id);
    const held = await worker.take({ wait: 10 });
    await worker.ok(held, 'start');
    const { agent_turn_id, turn_epoch } = held;
    const made = await merlin.call('POST', '/v1/boxes', { kind: 'output', agent_turn_id });
    const [first, second] = [await cardOf(merlin, `${agent_turn_id} 1`), await cardOf(merlin, `${agent_turn_id} 2`)];
    const append = (card: string) =>
      merlin.call('POST', `/v1/boxes/${made.body.box_id}/append`, { cards: [card], turn_epoch });
    assert.equal((await append(first)).status, 200);
    await worker.deliver(held);
    const refused = await append(second);
    assert.deepEqual([refused.status, refused.body.code], [409, 'stale_turn']);
    assert.deepEqual((await merlin.call('GET', `/v1/boxes/${made.body.box_id}`)).body.cards, [first]);
  });
});

describe('tools', () => {
  it('are registered, listed, replaced and removed', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const path = `/v1/tools/${merlin.id}.search`;
    const registration = { target_subject: 'cmd.tool.search.execute', parameters: { type: 'object', required: ['q'] } };
    assert.equal((await parley.admin.call('PUT', path, registration)).status, 201);
    assert.equal((await parley.admin.call('PUT', path, { ...registration, ui_allowed: true })).status, 200);
    const tool = (await merlin.call('GET', path)).body;
    assert.deepEqual([tool.ui_allowed, tool.parameters.required], [true, ['q']]);
    const { tools } = (await merlin.call('GET', `/v1/tools?limit=1&cursor=${merlin.id}`)).body;
    assert.equal(tools[0]?.name, `${merlin.id}.search`);
    assert.equal((await parley.admin.call('DELETE', path)).status, 204);
  });
});
