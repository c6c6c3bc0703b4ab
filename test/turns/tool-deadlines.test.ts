import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, headOf, madeCard, reports, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** A turn that waits for the calls for 600 s, of tools that have these many seconds each. */
const scene = async (parley: TestParley, calls: Record<string, number | undefined>, more: object = {}) => {
  const merlin = new Worker(await groundAgent(parley, 'merlin'));
  const search = await groundAgent(parley, 'search');
  for (const [call, seconds] of Object.entries(calls)) {
    const tool = { target_subject: 'cmd.tool.search.execute', options: { deadline_seconds: seconds }, ...more };
    assert.equal((await parley.admin.call('PUT', `/v1/tools/${call}`, tool)).status, 201);
  }
  const id = await enqueued(parley.admin, 'merlin');
  const held = await merlin.begin();
  await merlin.suspend(held, Object.keys(calls), { deadline_seconds: 600 });
  return { merlin, search, held, id };
};

const command = ({ agent_turn_id, turn_epoch }: Held, call: string) => ({
  subject: 'cg.v1r3.default.public.cmd.tool.search.execute',
  payload: { tool_call_id: call, agent_turn_id, turn_epoch, agent_id: 'merlin', tool_name: call },
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

describe('the deadline of a tool call', () => {
  it('counts though its command was claimed and its lease renewed, and the claimant learns of it', async (t) => {
    const parley = await testParley(t);
    const { merlin, search, held } = await scene(parley, { slow: 30 });
    await calls(merlin.agent, held, 'slow');
    const [claimed] = await search.claim();
    const task = await parley.admin.call('GET', '/v1/tasks?agent=search');
    const { id } = task.body.tasks[0];
    parley.clock.advance(20_000);
    assert.equal((await search.call('POST', `/v1/tasks/${id}/renew`)).status, 200, JSON.stringify(claimed));
    parley.clock.advance(9999);
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    parley.clock.advance(1);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
    const [row] = (await merlin.take()).inbox;
    assert.deepEqual([row.message_type, row.status, row.tool_call_id], ['timeout', 'timeout', 'slow']);
    await eventually(async () => {
      const renewed = await search.call('POST', `/v1/tasks/${id}/renew`);
      assert.equal(renewed.body.code, 'cancelled', JSON.stringify(renewed.body));
    });
    assert.deepEqual((await reports(search, 'merlin', held, 'slow')).body, { applied: false, reason: 'duplicate' });
  });

  it('is its own: the others are waited for, and the turn goes on after the last', async (t) => {
    const parley = await testParley(t);
    const { merlin, held, id } = await scene(parley, { a: 20, b: 200, c: undefined });
    await calls(merlin.agent, held, 'a', 'b', 'c');
    parley.clock.advance(20_000);
    await eventually(async () =>
      assert.deepEqual(await waitingIn(parley, id), [
        ['a', 'expired'],
        ['b', 'waiting'],
        ['c', 'waiting'],
      ]),
    );
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    assert.equal((await reports(parley.admin, 'merlin', held, 'c')).status, 202);
    parley.clock.advance(179_999);
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
    parley.clock.advance(1);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
    const { inbox } = await merlin.take();
    assert.deepEqual(inbox.map(({ tool_call_id, status }) => [tool_call_id, status]).toSorted(), [
      ['a', 'timeout'],
      ['b', 'timeout'],
      ['c', 'success'],
    ]);
  });

  it('comes on its second, though another tool reports just before', async (t) => {
    const parley = await testParley(t);
    const { merlin, held, id } = await scene(parley, { a: 20, b: 200, c: undefined });
    for (const call of ['a', 'b', 'c']) await calls(merlin.agent, held, call);
    parley.clock.advance(15_000);
    assert.equal((await reports(parley.admin, 'merlin', held, 'c')).status, 202);
    parley.clock.advance(5000);
    await eventually(async () =>
      assert.deepEqual(await waitingIn(parley, id), [
        ['a', 'expired'],
        ['b', 'waiting'],
        ['c', 'received'],
      ]),
    );
  });

  it('is kept for each of many calls that come at once', async (t) => {
    const parley = await testParley(t);
    const seconds = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`c${n}`, 80 - n * 10]));
    const { merlin, held, id } = await scene(parley, seconds);
    await Promise.all(Object.keys(seconds).map((name) => eventually(async () => calls(merlin.agent, held, name))));
    for (let left = 7; left >= 0; left--) {
      parley.clock.advance(10_000);
      await eventually(async () =>
        assert.equal((await waitingIn(parley, id)).filter(([, status]) => status === 'waiting').length, left),
      );
    }
  });

  it('is no longer than that of the turn', async (t) => {
    const parley = await testParley(t);
    const { merlin, held, id } = await scene(parley, { a: 10_000 });
    const { resume_deadline } = await turnOf(parley.admin, id);
    await calls(merlin.agent, held, 'a');
    assert.equal((await turnOf(parley.admin, id)).resume_deadline, resume_deadline);
    parley.clock.advance(600_000);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
  });

  it('lets the turn go on, whether the command was claimed or not, though the tool would have ended it', async (t) => {
    for (const isClaimed of [true, false]) {
      const parley = await testParley(t);
      const { merlin, search, held } = await scene(parley, { a: 30 }, { after_execution: 'terminate' });
      await calls(merlin.agent, held, 'a');
      if (isClaimed) assert.equal((await search.claim()).length, 1);
      parley.clock.advance(30_001);
      await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
      assert.equal((await merlin.take()).inbox[0].status, 'timeout');
    }
  });

  it('stops what an internal tool has begun', async (t) => {
    const parley = await testParley(t);
    const { merlin, held } = await scene(parley, { ask: 30 }, { target_subject: 'cmd.sys.pmo.internal.delegate' });
    const kay = new Worker(await groundAgent(parley, 'kay'));
    const card = await madeCard(merlin.agent, 'tool.call', { args: { target_ref: 'kay', instruction: 'go' } });
    const { payload } = command(held, 'ask');
    const sent = await merlin.agent.send({
      subject: 'cg.v1r3.default.public.cmd.sys.pmo.internal.delegate',
      payload: { ...payload, tool_call_card_id: card },
    });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const child = await kay.begin();
    parley.clock.advance(30_000);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
    await eventually(async () =>
      assert.equal((await kay.say(child, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn'),
    );
  });
});
