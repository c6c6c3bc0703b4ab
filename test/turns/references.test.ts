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
  const caller = new Worker(await groundAgent(parley, 'caller'));
  const helper = new Worker(await groundAgent(parley, 'helper'));
  await enqueued(parley.admin, 'caller');
  const held = await caller.begin();
  await caller.suspend(held, ['c1']);
  return { caller, helper, held };
};

describe('references of a turn', () => {
  it('rejects a call whose context box does not exist', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'caller');
    for (const context_box_id of ['box_1', 'no box at all'.replaceAll(' ', '/'), 'x'.repeat(128)]) {
      const call = called('caller', { context_box_id });
      const refused = await parley.admin.call('POST', '/v1/turns', call);
      assert.deepEqual([refused.status, refused.body.code], [422, 'unknown_box'], JSON.stringify(refused.body));
      const subject = 'cg.v1r3.default.public.cmd.agent.caller.turn';
      const sent = await parley.admin.call('POST', '/v1/messages', { subject, payload: call });
      assert.equal(sent.body.code, 'unknown_box');
      const without = { ...call, context_box_id: undefined };
      assert.equal((await parley.admin.call('POST', '/v1/turns', without)).status, 201, 'nothing remained of it');
    }
  });

  it('accepts a repeated call whose context box has expired', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'caller');
    const card = await madeCard(parley.admin, 'task.instruction', { go: 1 });
    const { body: box } = await parley.admin.call('POST', '/v1/boxes', { kind: 'context', cards: [card] });
    const call = called('caller', { context_box_id: box.box_id });
    assert.equal((await parley.admin.call('POST', '/v1/turns', call)).status, 201, JSON.stringify(box));
    await parley.parley.deps.records.delete({ pk: `default#box#${box.box_id}`, sk: 'box' });
    assert.equal((await parley.admin.call('POST', '/v1/turns', call)).status, 200);
  });

  it('rejects a deliverable whose output box does not exist', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'caller'));
    const id = await enqueued(parley.admin, 'caller');
    const held = await worker.begin();
    const deliverable_card_id = await madeCard(worker.agent, 'task.deliverable', { done: 1 });
    const delivery = { status: 'success', deliverable_card_id, output_box_id: 'result' };
    assert.equal((await worker.say(held, 'deliver', delivery)).body.code, 'unknown_box');
    assert.equal((await headOf(parley.admin, 'caller')).status, 'running');
    const made = await worker.agent.call('POST', '/v1/boxes', { kind: 'output', box_id: 'result' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await worker.ok(held, 'deliver', delivery);
    assert.equal((await turnOf(parley.admin, id)).output_box_id, 'result');
  });

  it('rejects a tool call whose card or context box does not exist', async (t) => {
    const parley = await testParley(t);
    const { caller, helper, held } = await scene(parley);
    const { agent_turn_id, turn_epoch } = held;
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'caller' };
    const subject = 'cg.v1r3.default.public.cmd.tool.helper.do';
    const refusals: [object, string][] = [
      [{ tool_call_card_id: 'card_1' }, 'unknown_card'],
      [{ context_box_id: 'box_1' }, 'unknown_box'],
    ];
    for (const [more, code] of refusals) {
      const reply = await caller.agent.send({ subject, payload: { ...payload, ...more } });
      assert.deepEqual([reply.status, reply.body.code], [422, code]);
    }
    assert.deepEqual(await helper.agent.claim(), []);
  });

  for (const tool of ['delegate', 'fork_join'] as const) {
    it(`rejects a ${tool} call whose card does not exist`, async (t) => {
      const parley = await testParley(t);
      const { caller, held } = await scene(parley);
      const reply = await caller.agent.send(internal(tool, 'caller', held, 'c1', 'card_1'));
      assert.deepEqual([reply.status, reply.body.code], [422, 'unknown_card']);
      assert.equal((await headOf(parley.admin, 'caller')).status, 'suspended');
    });

    it(`fails a ${tool} call whose context box does not exist`, async (t) => {
      const parley = await testParley(t);
      const { caller, helper, held } = await scene(parley);
      const task = { target_ref: 'helper', instruction: 'go', context_box_id: 'box_1' };
      const args = tool === 'delegate' ? task : { tasks: [{ target_strategy: 'reuse', ...task }] };
      const card = await madeCard(caller.agent, 'tool.call', { args });
      const reply = await caller.agent.send(internal(tool, 'caller', held, 'c1', card));
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
      assert.equal((await resultOf(caller)).status, 'failed');
      assert.equal(await helper.lease(), undefined);
    });
  }
});
