import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { eventually } from '../support/eventually.ts';
import {
  enqueued,
  eventsOf,
  groundAgent,
  type Held,
  headOf,
  internal,
  madeCard,
  resultOf,
  Worker,
} from '../support/ground.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const workers = (parley: TestParley, ...ids: string[]): Promise<Worker[]> =>
  Promise.all(ids.map(async (id) => new Worker(await groundAgent(parley, id))));

const calls = async (worker: Worker, held: Held, tool: 'delegate' | 'fork_join', args: object, call = 'd1') => {
  await worker.suspend(held, [call]);
  const card = await madeCard(worker.agent, 'tool.call', { args });
  const reply = await worker.agent.send(internal(tool, worker.agent.id, held, call, card));
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
};

const delegates = (worker: Worker, held: Held, target_ref: string, call?: string) =>
  calls(worker, held, 'delegate', { target_ref, instruction: 'go on' }, call);

const begun = async (parley: TestParley, worker: Worker): Promise<Held> => {
  await enqueued(parley.admin, worker.agent.id);
  return worker.begin();
};

const refusal = async (worker: Worker): Promise<string> => {
  const { inbox } = await eventually(() => worker.take());
  const { body } = await worker.agent.call('GET', `/v1/cards/${inbox[0].tool_result_card_id}`);
  assert.deepEqual([inbox[0].status, body.content.error.code], ['failed', 'protocol_violation']);
  assert.equal((await headOf(worker.agent, worker.agent.id)).status, 'running');
  return body.content.error.message;
};

describe('delegation cycle', () => {
  it('rejects a delegation of a turn to its own agent and publishes the violation', async (t) => {
    const parley = await testParley(t);
    const [lead] = await workers(parley, 'lead');
    assert.ok(lead);
    const held = await begun(parley, lead);
    await delegates(lead, held, 'lead');
    assert.match(await refusal(lead), /lead → lead/);
    const [told] = await eventually(async () => {
      const events = await eventsOf(parley.admin, 'evt.agent.task');
      assert.equal(events.length, 1);
      return events;
    });
    assert.deepEqual([told.data.payload.status, told.data.payload.error_code], ['failed', 'protocol_violation']);
    await lead.deliver(held);
    assert.equal(await lead.lease(), undefined, 'nothing is left in its queue');
  });

  it('rejects a delegation to any agent higher up in the chain', async (t) => {
    const parley = await testParley(t);
    const chain = await workers(parley, 'lead', 'helper', 'assistant');
    const [lead, helper, assistant] = chain;
    assert.ok(lead && helper && assistant);
    await delegates(lead, await begun(parley, lead), 'helper');
    await delegates(helper, await helper.begin(), 'assistant');
    const last = await assistant.begin();
    await delegates(assistant, last, 'lead');
    assert.match(await refusal(assistant), /lead → helper → assistant → lead/);
    await delegates(assistant, last, 'helper', 'd2');
    await refusal(assistant);
    await assistant.deliver(last);
    assert.equal((await resultOf(helper)).status, 'success', 'the others go on');
  });

  it('fails the items of a fork_join that would close a cycle and runs the others', async (t) => {
    const parley = await testParley(t);
    const [lead, helper, assistant] = await workers(parley, 'lead', 'helper', 'assistant');
    assert.ok(lead && helper && assistant);
    await delegates(lead, await begun(parley, lead), 'helper');
    const tasks = ['lead', 'helper', 'assistant'].map((target_ref, at) => ({
      target_strategy: ['reuse', 'clone', 'new'][at],
      target_ref,
      instruction: 'go on',
    }));
    await calls(helper, await helper.begin(), 'fork_join', { tasks });
    await assistant.deliver(await assistant.begin());
    const { status, result } = await resultOf(helper);
    assert.equal(status, 'partial');
    assert.deepEqual(
      result.results.map((one: { status: string; error_code?: string }) => [one.status, one.error_code]),
      [
        ['failed', 'protocol_violation'],
        ['failed', 'protocol_violation'],
        ['success', undefined],
      ],
    );
  });

  it('rejects a delegation to a group only when every agent of the group waits for the turn', async (t) => {
    const parley = await testParley(t);
    const lead = new Worker(await groundAgent(parley, 'lead', { capabilities: ['scribe'] }));
    // May not use the channel of the turn.
    await groundAgent(parley, 'aside', { capabilities: ['scribe'], channels: ['t_aside'] });
    // Gets tasks, and no turns.
    await parley.agent('cook', { ...taskFormat, capabilities: ['scribe'] });
    const held = await begun(parley, lead);
    await delegates(lead, held, 'scribe');
    await refusal(lead);
    const helper = new Worker(await groundAgent(parley, 'helper', { capabilities: ['scribe'] }));
    await delegates(lead, held, 'scribe', 'd2');
    await helper.deliver(await helper.begin());
    assert.equal((await resultOf(lead)).status, 'success');
  });

  it('rejects a delegation back to the caller of a tool by the agent that executes the tool call', async (t) => {
    const parley = await testParley(t);
    const [lead, helper] = await workers(parley, 'lead', 'helper');
    assert.ok(lead && helper);
    const { agent_turn_id, turn_epoch } = await begun(parley, lead);
    await lead.suspend({ agent_turn_id, turn_epoch, inbox: [] }, ['c1']);
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'lead' };
    const sent = await lead.agent.send({ subject: 'cg.v1r3.default.public.cmd.tool.helper.do', payload });
    assert.equal(sent.status, 202);
    await delegates(helper, await helper.begin(), 'lead');
    assert.match(await refusal(helper), /lead → helper → lead/);
  });

  it('rejects a subtask of another dialect for an agent that waits for its parent', async (t) => {
    const parley = await testParley(t);
    const [lead, helper] = await workers(parley, 'lead', 'helper');
    const cook = await parley.agent('cook', taskFormat);
    assert.ok(lead && helper);
    await delegates(lead, await begun(parley, lead), 'helper');
    await delegates(helper, await helper.begin(), 'cook');
    const [claimed] = await eventually(async () => {
      const found = await cook.claim();
      assert.equal(found.length, 1);
      return found;
    });
    for (const target of ['helper', 'lead']) {
      const part = tfRequest({ routing: { target }, context: { parentTaskId: claimed.message.id } });
      assert.equal((await cook.send(part)).body.code, 'delegation_cycle', target);
    }
  });

  it('rejects a delegation that closes a cycle through a subtask of another dialect', async (t) => {
    const parley = await testParley(t);
    const [lead, helper] = await workers(parley, 'lead', 'helper');
    const cook = await parley.agent('cook', taskFormat);
    assert.ok(lead && helper);
    await delegates(lead, await begun(parley, lead), 'cook');
    const [claimed] = await eventually(async () => {
      const found = await cook.claim();
      assert.equal(found.length, 1);
      return found;
    });
    const part = tfRequest({ routing: { target: 'helper' }, context: { parentTaskId: claimed.message.id } });
    assert.equal((await cook.send(part)).status, 202);
    const held = await helper.begin();
    for (const [call, target] of Object.entries({ d1: 'lead', d2: 'cook' })) {
      await delegates(helper, held, target, call);
      assert.match(await refusal(helper), /lead → cook → helper/);
    }
  });

  it('times out one of two turns that delegate to each other, and the other turn goes on', async (t) => {
    const parley = await testParley(t);
    const [lead, helper] = await workers(parley, 'lead', 'helper');
    assert.ok(lead && helper);
    const [first, second] = [await begun(parley, lead), await begun(parley, helper)];
    await delegates(lead, first, 'helper');
    parley.clock.advance(1000);
    await delegates(helper, second, 'lead');
    assert.deepEqual([await lead.lease(), await helper.lease()], [undefined, undefined]);
    parley.clock.advance(baseConfig.turns.toolTimeoutMs - 1000);
    assert.equal((await resultOf(lead)).status, 'timeout');
    await lead.deliver(first);
    await lead.deliver(await lead.begin());
    assert.equal((await resultOf(helper)).status, 'success');
    await helper.deliver(second);
    assert.equal(await helper.lease(), undefined, 'what lead asked for is not wanted any more');
  });

  it('accepts a delegation to an agent that does not wait any more', async (t) => {
    const parley = await testParley(t);
    const [lead, helper] = await workers(parley, 'lead', 'helper');
    assert.ok(lead && helper);
    const held = await begun(parley, lead);
    for (const call of ['d1', 'd2']) {
      await delegates(lead, held, 'helper', call);
      await helper.deliver(await helper.begin());
      assert.equal((await resultOf(lead)).status, 'success');
    }
    await lead.deliver(held);
    await delegates(helper, await begun(parley, helper), 'lead');
    await lead.deliver(await lead.begin());
    assert.equal((await resultOf(helper)).status, 'success');
  });
});
