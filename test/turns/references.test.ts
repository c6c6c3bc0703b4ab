import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  called,
  enqueued,
  groundAgent,
  headOf,
  internal,
  madeCard,
  resultOf,
  turnOf,
  Worker,
} from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const scene = async (parley: TestParley) => {
  const merlin = new Worker(await groundAgent(parley, 'merlin'));
  const kay = new Worker(await groundAgent(parley, 'kay'));
  await enqueued(parley.admin, 'merlin');
  const held = await merlin.begin();
  await merlin.suspend(held, ['c1']);
  return { merlin, kay, held };
};

describe('what a turn refers to', () => {
  it('must be there when it is called: a box of its context', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'merlin');
    for (const context_box_id of ['box_1', 'no box at all'.replaceAll(' ', '/'), 'x'.repeat(128)]) {
      const call = called('merlin', { context_box_id });
      const refused = await parley.admin.call('POST', '/v1/turns', call);
      assert.deepEqual([refused.status, refused.body.code], [422, 'unknown_box'], JSON.stringify(refused.body));
      const subject = 'cg.v1r3.default.public.cmd.agent.merlin.turn';
      const sent = await parley.admin.call('POST', '/v1/messages', { subject, payload: call });
      assert.equal(sent.body.code, 'unknown_box');
      const without = { ...call, context_box_id: undefined };
      assert.equal((await parley.admin.call('POST', '/v1/turns', without)).status, 201, 'nothing remained of it');
    }
  });

  it('may be gone when the same call is made again', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'merlin');
    const card = await madeCard(parley.admin, 'task.instruction', { go: 1 });
    const { body: box } = await parley.admin.call('POST', '/v1/boxes', { kind: 'context', cards: [card] });
    const call = called('merlin', { context_box_id: box.box_id });
    assert.equal((await parley.admin.call('POST', '/v1/turns', call)).status, 201, JSON.stringify(box));
    await parley.parley.deps.records.delete({ pk: `default#box#${box.box_id}`, sk: 'box' });
    assert.equal((await parley.admin.call('POST', '/v1/turns', call)).status, 200);
  });

  it('must be there when it is delivered: the box of its output', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const id = await enqueued(parley.admin, 'merlin');
    const held = await worker.begin();
    const deliverable_card_id = await madeCard(worker.agent, 'task.deliverable', { done: 1 });
    const delivery = { status: 'success', deliverable_card_id, output_box_id: 'result' };
    assert.equal((await worker.say(held, 'deliver', delivery)).body.code, 'unknown_box');
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'running');
    const made = await worker.agent.call('POST', '/v1/boxes', { kind: 'output', box_id: 'result' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await worker.ok(held, 'deliver', delivery);
    assert.equal((await turnOf(parley.admin, id)).output_box_id, 'result');
  });

  it('must be there when a tool is called: the card of the call and the box of its context', async (t) => {
    const parley = await testParley(t);
    const { merlin, kay, held } = await scene(parley);
    const { agent_turn_id, turn_epoch } = held;
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'merlin' };
    const subject = 'cg.v1r3.default.public.cmd.tool.kay.do';
    const refusals: [object, string][] = [
      [{ tool_call_card_id: 'card_1' }, 'unknown_card'],
      [{ context_box_id: 'box_1' }, 'unknown_box'],
    ];
    for (const [more, code] of refusals) {
      const reply = await merlin.agent.send({ subject, payload: { ...payload, ...more } });
      assert.deepEqual([reply.status, reply.body.code], [422, code]);
    }
    assert.deepEqual(await kay.agent.claim(), []);
  });

  for (const tool of ['delegate', 'fork_join'] as const) {
    it(`must be there when ${tool} is called: the card of the call`, async (t) => {
      const parley = await testParley(t);
      const { merlin, held } = await scene(parley);
      const reply = await merlin.agent.send(internal(tool, 'merlin', held, 'c1', 'card_1'));
      assert.deepEqual([reply.status, reply.body.code], [422, 'unknown_card']);
      assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    });

    it(`must be there when it is called by ${tool}, whose result says so`, async (t) => {
      const parley = await testParley(t);
      const { merlin, kay, held } = await scene(parley);
      const task = { target_ref: 'kay', instruction: 'go', context_box_id: 'box_1' };
      const args = tool === 'delegate' ? task : { tasks: [{ target_strategy: 'reuse', ...task }] };
      const card = await madeCard(merlin.agent, 'tool.call', { args });
      const reply = await merlin.agent.send(internal(tool, 'merlin', held, 'c1', card));
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
      assert.equal((await resultOf(merlin)).status, 'failed');
      assert.equal(await kay.lease(), undefined);
    });
  }
});
