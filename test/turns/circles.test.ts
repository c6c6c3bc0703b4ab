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

/** The worker's turn waits for a tool of Parley's, which is then called. */
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

/** What the turn was told of its call: a breach of the protocol. The turn goes on. */
const refusal = async (worker: Worker): Promise<string> => {
  const { inbox } = await eventually(() => worker.take());
  const { body } = await worker.agent.call('GET', `/v1/cards/${inbox[0].tool_result_card_id}`);
  assert.deepEqual([inbox[0].status, body.content.error_code], ['failed', 'protocol_violation']);
  assert.equal((await headOf(worker.agent, worker.agent.id)).status, 'running');
  return body.content.error;
};

describe('a turn that would wait for itself', () => {
  it('is told so at once when it delegates to its own agent, and so is whoever watches that', async (t) => {
    const parley = await testParley(t);
    const [merlin] = await workers(parley, 'merlin');
    assert.ok(merlin);
    const held = await begun(parley, merlin);
    await delegates(merlin, held, 'merlin');
    assert.match(await refusal(merlin), /merlin → merlin/);
    const [told] = await eventually(async () => {
      const events = await eventsOf(parley.admin, 'evt.agent.task');
      assert.equal(events.length, 1);
      return events;
    });
    assert.deepEqual([told.data.payload.status, told.data.payload.error_code], ['failed', 'protocol_violation']);
    await merlin.deliver(held);
    assert.equal(await merlin.lease(), undefined, 'nothing is left in its queue');
  });

  it('is not begun by an agent further down, however far', async (t) => {
    const parley = await testParley(t);
    const chain = await workers(parley, 'merlin', 'kay', 'bors');
    const [merlin, kay, bors] = chain;
    assert.ok(merlin && kay && bors);
    await delegates(merlin, await begun(parley, merlin), 'kay');
    await delegates(kay, await kay.begin(), 'bors');
    const last = await bors.begin();
    await delegates(bors, last, 'merlin');
    assert.match(await refusal(bors), /merlin → kay → bors → merlin/);
    await delegates(bors, last, 'kay', 'd2');
    await refusal(bors);
    await bors.deliver(last);
    assert.equal((await resultOf(kay)).status, 'success', 'the others go on');
  });

  it('is one part of a fork that fails, and the others run', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay, bors] = await workers(parley, 'merlin', 'kay', 'bors');
    assert.ok(merlin && kay && bors);
    await delegates(merlin, await begun(parley, merlin), 'kay');
    const tasks = ['merlin', 'kay', 'bors'].map((target_ref, at) => ({
      target_strategy: ['reuse', 'clone', 'new'][at],
      target_ref,
      instruction: 'go on',
    }));
    await calls(kay, await kay.begin(), 'fork_join', { tasks });
    await bors.deliver(await bors.begin());
    const { status, result } = await resultOf(kay);
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

  it('is refused for a group whose agents all wait for it, and not for one with another agent', async (t) => {
    const parley = await testParley(t);
    const merlin = new Worker(await groundAgent(parley, 'merlin', { capabilities: ['scribe'] }));
    // On no channel of the turn.
    await groundAgent(parley, 'aside', { capabilities: ['scribe'], channels: ['t_aside'] });
    // Gets tasks, and no turns.
    await parley.agent('cook', { ...taskFormat, capabilities: ['scribe'] });
    const held = await begun(parley, merlin);
    await delegates(merlin, held, 'scribe');
    await refusal(merlin);
    const kay = new Worker(await groundAgent(parley, 'kay', { capabilities: ['scribe'] }));
    await delegates(merlin, held, 'scribe', 'd2');
    await kay.deliver(await kay.begin());
    assert.equal((await resultOf(merlin)).status, 'success');
  });

  it('is refused behind the call of a tool whose service takes it as a turn', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = await workers(parley, 'merlin', 'kay');
    assert.ok(merlin && kay);
    const { agent_turn_id, turn_epoch } = await begun(parley, merlin);
    await merlin.suspend({ agent_turn_id, turn_epoch, inbox: [] }, ['c1']);
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'merlin' };
    const sent = await merlin.agent.send({ subject: 'cg.v1r3.default.public.cmd.tool.kay.do', payload });
    assert.equal(sent.status, 202);
    await delegates(kay, await kay.begin(), 'merlin');
    assert.match(await refusal(kay), /merlin → kay → merlin/);
  });

  it('is refused behind an agent that speaks another protocol', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = await workers(parley, 'merlin', 'kay');
    const cook = await parley.agent('cook', taskFormat);
    assert.ok(merlin && kay);
    await delegates(merlin, await begun(parley, merlin), 'kay');
    await delegates(kay, await kay.begin(), 'cook');
    const [claimed] = await eventually(async () => {
      const found = await cook.claim();
      assert.equal(found.length, 1);
      return found;
    });
    for (const target of ['kay', 'merlin']) {
      const part = tfRequest({ routing: { target }, context: { parentTaskId: claimed.message.id } });
      assert.equal((await cook.send(part)).body.code, 'delegation_cycle', target);
    }
  });

  it('is refused behind an agent that speaks another protocol, also by the turn that its subtask became', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = await workers(parley, 'merlin', 'kay');
    const cook = await parley.agent('cook', taskFormat);
    assert.ok(merlin && kay);
    await delegates(merlin, await begun(parley, merlin), 'cook');
    const [claimed] = await eventually(async () => {
      const found = await cook.claim();
      assert.equal(found.length, 1);
      return found;
    });
    const part = tfRequest({ routing: { target: 'kay' }, context: { parentTaskId: claimed.message.id } });
    assert.equal((await cook.send(part)).status, 202);
    const held = await kay.begin();
    for (const [call, target] of Object.entries({ d1: 'merlin', d2: 'cook' })) {
      await delegates(kay, held, target, call);
      assert.match(await refusal(kay), /merlin → cook → kay/);
    }
  });

  it('is let go by its deadline where two chains wait for each other crosswise, and the other goes on', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = await workers(parley, 'merlin', 'kay');
    assert.ok(merlin && kay);
    const [first, second] = [await begun(parley, merlin), await begun(parley, kay)];
    await delegates(merlin, first, 'kay');
    parley.clock.advance(1000);
    await delegates(kay, second, 'merlin');
    assert.deepEqual([await merlin.lease(), await kay.lease()], [undefined, undefined]);
    parley.clock.advance(baseConfig.turns.toolTimeoutMs - 1000);
    assert.equal((await resultOf(merlin)).status, 'timeout');
    await merlin.deliver(first);
    await merlin.deliver(await merlin.begin());
    assert.equal((await resultOf(kay)).status, 'success');
    await kay.deliver(second);
    assert.equal(await kay.lease(), undefined, 'what merlin asked for is not wanted any more');
  });

  it('is another one where nobody waits any more', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = await workers(parley, 'merlin', 'kay');
    assert.ok(merlin && kay);
    const held = await begun(parley, merlin);
    for (const call of ['d1', 'd2']) {
      await delegates(merlin, held, 'kay', call);
      await kay.deliver(await kay.begin());
      assert.equal((await resultOf(merlin)).status, 'success');
    }
    await merlin.deliver(held);
    await delegates(kay, await begun(parley, kay), 'merlin');
    await merlin.deliver(await merlin.begin());
    assert.equal((await resultOf(kay)).status, 'success');
  });
});
