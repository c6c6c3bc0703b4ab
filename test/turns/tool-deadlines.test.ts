import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, headOf, madeCard, reports, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** A turn that waits for the calls for 600 s, of tools that have these many seconds each. */
const scene = async (parley: TestParley, calls: Record<string, number | undefined>, more: object = {}) => {
  const caller = new Worker(await groundAgent(parley, 'caller'));
  const search = await groundAgent(parley, 'search');
  for (const [call, seconds] of Object.entries(calls)) {
    const tool = { target_subject: 'cmd.tool.search.execute', options: { deadline_seconds: seconds }, ...more };
    assert.equal((await parley.admin.call('PUT', `/v1/tools/${call}`, tool)).status, 201);
  }
  const id = await enqueued(parley.admin, 'caller');
  const held = await caller.begin();
  await caller.suspend(held, Object.keys(calls), { deadline_seconds: 600 });
  return { caller, search, held, id };
};

const command = ({ agent_turn_id, turn_epoch }: Held, call: string) => ({
  subject: 'cg.v1r3.default.public.cmd.tool.search.execute',
  payload: { tool_call_id: call, agent_turn_id, turn_epoch, agent_id: 'caller', tool_name: call },
});

const calls = async (agent: TestAgent, held: Held, ...names: string[]) => {
  const replies = await Promise.all(names.map((name) => agent.send(command(held, name))));
  for (const reply of replies) assert.equal(reply.status, 202, JSON.stringify(reply.body));
};

const waitingIn = async ({ admin }: TestParley, id: string): Promise<[string, string][]> =>
  (await turnOf(admin, id)).waiting.map((one: { tool_call_id: string; status: string }) => [
    one.tool_call_id,
    one.status,
  ]);

describe('tool call deadline', () => {
  it('times out a claimed tool call despite lease renewals and notifies the claimant', async (t) => {
    const parley = await testParley(t);
    const { caller, search, held } = await scene(parley, { slow: 30 });
    await calls(caller.agent, held, 'slow');
    const [claimed] = await search.claim();
    const task = await parley.admin.call('GET', '/v1/tasks?agent=search');
    const { id } = task.body.tasks[0];
    parley.clock.advance(20_000);
    assert.equal((await search.call('POST', `/v1/tasks/${id}/renew`)).status, 200, JSON.stringify(claimed));
    parley.clock.advance(9999);
    assert.equal((await headOf(parley.admin, 'caller')).status, 'suspended');
    parley.clock.advance(1);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'caller')).status, 'running'));
    const [row] = (await caller.take()).inbox;
    assert.deepEqual([row.message_type, row.status, row.tool_call_id], ['timeout', 'timeout', 'slow']);
    await eventually(async () => {
      const renewed = await search.call('POST', `/v1/tasks/${id}/renew`);
      assert.equal(renewed.body.code, 'cancelled', JSON.stringify(renewed.body));
    });
    assert.deepEqual((await reports(search, 'caller', held, 'slow')).body, { applied: false, reason: 'duplicate' });
  });

  it('times out each tool call at its own deadline and resumes the turn after the last report', async (t) => {
    const parley = await testParley(t);
    const { caller, held, id } = await scene(parley, { a: 20, b: 200, c: undefined });
    await calls(caller.agent, held, 'a', 'b', 'c');
    parley.clock.advance(20_000);
    await eventually(async () =>
      assert.deepEqual(await waitingIn(parley, id), [
        ['a', 'expired'],
        ['b', 'waiting'],
        ['c', 'waiting'],
      ]),
    );
    assert.equal((await headOf(parley.admin, 'caller')).status, 'suspended');
    assert.equal((await reports(parley.admin, 'caller', held, 'c')).status, 202);
    parley.clock.advance(179_999);
    assert.equal((await headOf(parley.admin, 'caller')).status, 'suspended');
    parley.clock.advance(1);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'caller')).status, 'running'));
    const { inbox } = await caller.take();
    assert.deepEqual(inbox.map(({ tool_call_id, status }) => [tool_call_id, status]).toSorted(), [
      ['a', 'timeout'],
      ['b', 'timeout'],
      ['c', 'success'],
    ]);
  });

  it('times out a tool call on the second although another tool reports just before', async (t) => {
    const parley = await testParley(t);
    const { caller, held, id } = await scene(parley, { a: 20, b: 200, c: undefined });
    for (const call of ['a', 'b', 'c']) await calls(caller.agent, held, call);
    parley.clock.advance(15_000);
    assert.equal((await reports(parley.admin, 'caller', held, 'c')).status, 202);
    parley.clock.advance(5000);
    await eventually(async () =>
      assert.deepEqual(await waitingIn(parley, id), [
        ['a', 'expired'],
        ['b', 'waiting'],
        ['c', 'received'],
      ]),
    );
  });

  it('keeps the deadline of each of many tool calls that are sent at once', async (t) => {
    const parley = await testParley(t);
    const seconds = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`c${n}`, 80 - n * 10]));
    const { caller, held, id } = await scene(parley, seconds);
    await Promise.all(Object.keys(seconds).map((name) => eventually(async () => calls(caller.agent, held, name))));
    for (let left = 7; left >= 0; left--) {
      parley.clock.advance(10_000);
      await eventually(async () =>
        assert.equal((await waitingIn(parley, id)).filter(([, status]) => status === 'waiting').length, left),
      );
    }
  });

  it('caps the deadline of a tool call at that of its turn', async (t) => {
    const parley = await testParley(t);
    const { caller, held, id } = await scene(parley, { a: 10_000 });
    const { resume_deadline } = await turnOf(parley.admin, id);
    await calls(caller.agent, held, 'a');
    assert.equal((await turnOf(parley.admin, id)).resume_deadline, resume_deadline);
    parley.clock.advance(600_000);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'caller')).status, 'running'));
  });

  it('resumes the turn after a timeout, claimed or not, although the tool would have ended the turn', async (t) => {
    for (const isClaimed of [true, false]) {
      const parley = await testParley(t);
      const { caller, search, held } = await scene(parley, { a: 30 }, { after_execution: 'terminate' });
      await calls(caller.agent, held, 'a');
      if (isClaimed) assert.equal((await search.claim()).length, 1);
      parley.clock.advance(30_001);
      await eventually(async () => assert.equal((await headOf(parley.admin, 'caller')).status, 'running'));
      assert.equal((await caller.take()).inbox[0].status, 'timeout');
    }
  });

  it('stops the turns of an internal tool at its deadline', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley, { ask: 30 }, { target_subject: 'cmd.sys.pmo.internal.delegate' });
    const helper = new Worker(await groundAgent(parley, 'helper'));
    const card = await madeCard(caller.agent, 'tool.call', { args: { target_ref: 'helper', instruction: 'go' } });
    const { payload } = command(held, 'ask');
    const sent = await caller.agent.send({
      subject: 'cg.v1r3.default.public.cmd.sys.pmo.internal.delegate',
      payload: { ...payload, tool_call_card_id: card },
    });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const child = await helper.begin();
    parley.clock.advance(30_000);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'caller')).status, 'running'));
    await eventually(async () =>
      assert.equal((await helper.say(child, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn'),
    );
  });
});
