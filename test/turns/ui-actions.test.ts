import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, eventsOf, groundAgent, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const action = (more: object = {}) => ({
  subject: 'cg.v1r3.default.public.cmd.sys.ui.action',
  payload: { action_id: 'a1', agent_id: 'panel', tool_name: 'rename', args: { to: 'Avalon' }, ...more },
});

const scene = async (parley: TestParley) => {
  const tool = (ui_allowed?: boolean) => ({ target_subject: 'cmd.tool.files.rename', ui_allowed });
  await parley.admin.call('PUT', '/v1/tools/rename', tool(true));
  await parley.admin.call('PUT', '/v1/tools/remove', tool());
  const user = await groundAgent(parley, 'user');
  return { user, panel: new Worker(await groundAgent(parley, 'panel', { workerTarget: 'ui_worker' })) };
};

const acks = async ({ admin }: TestParley) =>
  (await eventsOf(admin, 'evt.sys.ui.action_ack')).map(({ data }) => [
    data.payload.action_id,
    data.payload.status,
    data.payload.error_code,
  ]);

describe('UI action', () => {
  it('acknowledges an action when it is accepted and again when its turn has ended', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    assert.equal((await user.send(action({ parent_step_id: 's0', message_id: 'm1' }))).status, 202);
    await eventually(async () => assert.deepEqual(await acks(parley), [['a1', 'accepted', undefined]]));
    const held = await panel.begin();
    const { ui_action, tool_call_card_id } = held.inbox[0].payload;
    assert.equal(ui_action.parent_step_id, 's0');
    const card = await user.call('GET', `/v1/cards/${tool_call_card_id}`);
    assert.deepEqual(card.body.content, {
      tool_name: 'rename',
      arguments: { to: 'Avalon' },
      status: 'called',
      target_subject: 'cmd.tool.files.rename',
    });
    const deliverable = await panel.deliver(held, { renamed: true });
    await eventually(async () => {
      const events = await eventsOf(parley.admin, 'evt.sys.ui.action_ack');
      const { subject, payload } = events.at(-1)?.data ?? {};
      assert.equal(subject, 'cg.v1r3.default.public.evt.sys.ui.action_ack');
      assert.equal(payload.status, 'done');
      assert.equal(payload.message_id, 'm1');
      assert.equal(payload.tool_result_card_id, deliverable);
      assert.equal(events.length, 2);
    });
  });

  for (const [end, status, errorCode] of [
    ['partial', 'done', undefined],
    ['failed', 'rejected', 'failed'],
    ['canceled', 'rejected', 'canceled'],
  ] as const) {
    it(`acknowledges an action whose turn ended ${end} as ${status}`, async (t) => {
      const parley = await testParley(t);
      const { user, panel } = await scene(parley);
      await user.send(action());
      await panel.deliver(await panel.begin(), { renamed: 1 }, end);
      await eventually(async () => assert.deepEqual((await acks(parley)).at(-1), ['a1', status, errorCode]));
    });
  }

  it('executes an action once per action id across different messages', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    const replies = [];
    for (const more of [{}, { message_id: 'm1' }, { message_id: 'm2' }])
      replies.push((await user.send(action(more))).status);
    assert.deepEqual(replies, [202, 200, 200]);
    await panel.deliver(await panel.begin());
    assert.equal(await panel.lease(), undefined);
  });

  it('accepts one of several concurrent actions and rejects the others as busy', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    const ids = ['a1', 'a2', 'a3'];
    await Promise.all(ids.map((action_id) => user.send(action({ action_id, message_id: `m-${action_id}` }))));
    await eventually(async () =>
      assert.deepEqual((await acks(parley)).map(([, status]) => status).toSorted(), ['accepted', 'busy', 'busy']),
    );
    await panel.deliver(await panel.begin());
    await eventually(async () => assert.equal((await acks(parley)).at(-1)?.[1], 'done'));
    await user.send(action({ action_id: 'a4' }));
    await eventually(async () => assert.equal((await acks(parley)).at(-1)?.[1], 'accepted'));
  });

  it('writes an action and its turn together so that a kill between them loses neither', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    const { records } = parley.parley.deps;
    const create = records.create.bind(records);
    records.create = async (item, token) => {
      if (item.sk === 'ui-action') throw new Error('killed');
      return create(item, token);
    };
    await user.send(action());
    const held = await panel.begin();
    records.create = create;
    await user.send(action());
    await panel.deliver(held);
    await eventually(async () =>
      assert.deepEqual(
        (await acks(parley)).map(([, status]) => status),
        ['accepted', 'done'],
      ),
    );
  });

  it('rejects an action that is too deep or on a channel that its sender may not use', async (t) => {
    const parley = await testParley(t);
    const { user } = await scene(parley);
    await user.send({ ...action(), headers: { 'CG-Recursion-Depth': '20' } });
    const foreign = action({ action_id: 'a2' });
    await user.send({ ...foreign, subject: foreign.subject.replace('public', 't_x') });
    await eventually(async () =>
      assert.deepEqual((await acks(parley)).toSorted(), [
        ['a1', 'rejected', 'recursion_depth_exceeded'],
        ['a2', 'rejected', 'channel_forbidden'],
      ]),
    );
  });

  it('deduplicates actions by action id, or by message id', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    for (const more of [{}, { action_id: 'other', message_id: 'm1' }]) {
      assert.equal((await user.send(action(more))).status, 202);
      const again = await user.send(action(more));
      assert.deepEqual([again.status, again.body.duplicate], [200, true]);
      await panel.deliver(await panel.begin());
      assert.equal(await panel.lease(), undefined);
    }
    assert.equal((await user.send(action({ args: {} }))).body.code, 'id_reused');
    assert.equal((await user.send(action({ action_id: 'a9', message_id: 'm1' }))).body.code, 'id_reused');
  });

  it('rejects an action for an agent that is no user interface and a tool that is not allowed there', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    await user.send(action({ action_id: 'a1', agent_id: 'user' }));
    await user.send(action({ action_id: 'a2', tool_name: 'remove' }));
    await user.send(action({ action_id: 'a3', tool_name: 'unknown' }));
    await user.send(action({ action_id: 'a4', agent_id: 'nobody' }));
    await eventually(async () =>
      assert.deepEqual((await acks(parley)).toSorted(), [
        ['a1', 'rejected', 'invalid_worker_target'],
        ['a2', 'rejected', 'ui_not_allowed'],
        ['a3', 'rejected', 'tool_definition_missing'],
        ['a4', 'rejected', 'agent_not_found'],
      ]),
    );
    assert.equal(await panel.lease(), undefined);
  });

  it('rejects an action with busy while the agent executes a turn', async (t) => {
    const parley = await testParley(t);
    const { user, panel } = await scene(parley);
    await enqueued(parley.admin, 'panel');
    const held = await panel.begin();
    await user.send(action());
    await eventually(async () => assert.deepEqual(await acks(parley), [['a1', 'busy', 'agent_busy']]));
    await panel.deliver(held);
    assert.equal(await panel.lease(), undefined);
  });
});

describe('wake-ups', () => {
  it('wakes one idle agent of a group', async (t) => {
    const parley = await testParley(t);
    const [busy, idle] = [
      new Worker(await groundAgent(parley, 'busy', { capabilities: ['scribe'] })),
      new Worker(await groundAgent(parley, 'idle', { capabilities: ['scribe'] })),
    ];
    await enqueued(parley.admin, 'busy');
    await busy.begin();
    const id = await enqueued(parley.admin, 'scribe');
    await eventually(async () => {
      const { subject, payload, to } = (await eventsOf(parley.admin, 'cmd.agent.wakeup')).at(-1)?.data ?? {};
      assert.equal(subject, 'cg.v1r3.default.public.cmd.agent.scribe.wakeup');
      assert.equal(payload.agent_id, 'idle');
      assert.equal(to, 'idle');
    });
    const held = await idle.take();
    assert.equal(held.agent_turn_id, id);
    await idle.ok(held, 'start');
    await idle.deliver(held);
  });

  it('wakes a worker that waits for a turn of its group', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'scribe-1', { capabilities: ['scribe'] }));
    const waiting = worker.take({ wait: 20 });
    const id = await enqueued(parley.admin, 'scribe');
    assert.equal((await waiting).agent_turn_id, id);
  });

  it('creates no turn from a wake-up that an agent sends', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const bell = {
      subject: 'cg.v1r3.default.public.cmd.agent.worker.wakeup',
      payload: { agent_id: 'somebody', inbox_id: 'made-up', reason: 'because', metadata: { x: 1 } },
    };
    assert.equal((await parley.admin.call('POST', '/v1/messages', bell)).status, 202);
    assert.equal(
      (await parley.admin.call('POST', '/v1/messages', { ...bell, payload: {} })).body.code,
      'protocol_violation',
    );
    assert.equal(await worker.lease(), undefined);
    await eventually(async () => {
      const [rung, ...more] = await eventsOf(parley.admin, 'cmd.agent.wakeup');
      assert.equal(rung?.data.payload.agent_id, 'worker');
      assert.equal(more.length, 0);
    });
  });
});
