import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { turnRef } from '../../shared/model/turn.ts';
import { eventually } from '../support/eventually.ts';
import {
  enqueued,
  eventsOf,
  groundAgent,
  type Held,
  headOf,
  madeCard,
  reports,
  taskEvents,
  turnOf,
  Worker,
} from '../support/ground.ts';
import type { TestParley } from '../support/test-parley.ts';
import { testParley } from '../support/test-parley.ts';

const everyWrite = async (worker: Worker, held: Held) => {
  const card = await madeCard(worker.agent, 'task.deliverable', { late: true });
  return [
    await worker.say(held, 'start'),
    await worker.say(held, 'step', { step_id: 'late', phase: 'think' }),
    await worker.say(held, 'suspend', { waiting: [{ tool_call_id: 'late', step_id: 's' }] }),
    await worker.say(held, 'deliver', { status: 'success', deliverable_card_id: card }),
    await worker.say(held, 'stop'),
  ];
};

const boxOf = async ({ agent }: Worker, { agent_turn_id }: Held): Promise<string> =>
  (await agent.call('POST', '/v1/boxes', { kind: 'output', agent_turn_id })).body.box_id;

const everyCall = async ({ agent }: Worker, { agent_turn_id, turn_epoch }: Held, box: string) => {
  const [thought, call] = [
    await madeCard(agent, 'agent.thought', { late: true }),
    await madeCard(agent, 'tool.call', { args: { target_ref: agent.id, instruction: 'late' } }),
  ];
  const payload = { tool_call_id: 'late', agent_id: agent.id, agent_turn_id, turn_epoch, tool_call_card_id: call };
  const command = (subject: string) => agent.send({ subject: `cg.v1r3.default.public.cmd.${subject}`, payload });
  return [
    await agent.call('POST', `/v1/boxes/${box}/append`, { cards: [thought], turn_epoch }),
    await command(`tool.${agent.id}.execute`),
    await command('sys.pmo.internal.delegate'),
  ];
};

const toldBy = async ({ admin }: TestParley) =>
  (await eventsOf(admin, 'evt.agent.step', 'evt.agent.task', 'evt.agent.state', 'cmd.agent.wakeup')).length;

describe('fencing token', () => {
  it('rejects every write of a worker whose turn was reaped while the agent executes the next turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const dead = await worker.begin();
    const box = await boxOf(worker, dead);
    await enqueued(parley.admin, 'worker');
    parley.clock.advance(parley.parley.deps.config.turns.heartbeatTimeoutMs + 60_000);
    await eventually(async () => assert.equal((await headOf(parley.admin, 'worker')).status, 'idle'));
    await eventually(async () => assert.equal((await taskEvents(parley.admin, id)).length, 1));
    const next = await worker.begin();
    assert.equal(next.turn_epoch, dead.turn_epoch + 2, 'one for the reaping, one for the lease');
    const before = await eventually(async () => {
      const told = await toldBy(parley);
      assert.equal((await eventsOf(parley.admin, 'evt.agent.state')).at(-1)?.data.payload.status, 'running');
      return told;
    });
    for (const reply of await everyWrite(worker, dead)) {
      assert.equal(reply.status, 409, JSON.stringify(reply.body));
      assert.equal(reply.body.code, 'stale_turn');
      assert.equal(reply.body.active_agent_turn_id, next.agent_turn_id);
    }
    for (const { status, body } of await everyCall(worker, dead, box)) {
      assert.deepEqual([status, body.code], [409, 'stale_turn'], JSON.stringify(body));
    }
    assert.deepEqual((await parley.admin.call('GET', `/v1/boxes/${box}`)).body.cards, []);
    assert.deepEqual(await worker.agent.claim(), []);
    assert.equal((await reports(parley.admin, 'worker', dead, 'late')).body.reason, 'late');
    assert.equal((await headOf(parley.admin, 'worker')).active_agent_turn_id, next.agent_turn_id);
    await worker.deliver(next);
    await eventually(async () => assert.equal((await taskEvents(parley.admin, next.agent_turn_id)).length, 1));
    // One state event and one task event of the delivery, and nothing else.
    assert.equal(await toldBy(parley), before + 2);
    assert.equal((await taskEvents(parley.admin, id)).length, 1);
  });

  it('accepts a fencing token by the agent state before the turn records its lease, and a late lease does not undo the end', async (t) => {
    let late = async (): Promise<unknown> => assert.fail('it was never told of its lease');
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: async (ref, change, ...rest) => {
            if (change.set?.state !== 'leased') return ports.records.update(ref, change, ...rest);
            late = () => ports.records.update(ref, change, ...rest);
            return { outcome: 'refused' };
          },
        },
      }),
    });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    assert.equal((await worker.say({ ...held, turn_epoch: 0 }, 'stop')).body.code, 'stale_turn');
    assert.equal((await headOf(parley.admin, 'worker')).active_agent_turn_id, id);
    await worker.deliver(held);
    await eventually(async () => assert.equal((await taskEvents(parley.admin, id)).length, 1));
    await late();
    const turn = await parley.parley.deps.records.get(turnRef('default', id));
    assert.deepEqual([turn?.state, turn?.end?.status], ['ended', 'success']);
  });

  it('rejects a wrong epoch and a wrong turn id without any effect', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    const wrong = [
      { ...held, turn_epoch: 2 },
      { ...held, turn_epoch: 0 },
      { ...held, agent_turn_id: 'turn_other' },
    ];
    for (const one of wrong.slice(0, 1)) {
      for (const reply of await everyWrite(worker, one)) assert.equal(reply.body.code, 'stale_turn');
    }
    for (const one of wrong) {
      assert.equal((await worker.say(one, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn');
    }
    const shown = await turnOf(parley.admin, held.agent_turn_id);
    assert.equal(shown.status, 'running');
    assert.deepEqual(shown.steps, []);
  });

  it('rejects a step from anyone but the agent of the turn and an administrator', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const other = new Worker(await groundAgent(parley, 'other-worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    assert.equal((await other.say(held, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn');
    assert.equal(
      (await other.say(held, 'step', { step_id: 's', phase: 'p', agent_id: 'worker' })).body.code,
      'from_mismatch',
    );
    assert.equal((await other.say(held, 'stop')).status, 403);
    const { agent_turn_id, turn_epoch } = held;
    const admin = await parley.admin.call('POST', `/v1/turns/${agent_turn_id}/step`, {
      turn_epoch,
      step_id: 's',
      phase: 'p',
    });
    assert.equal(admin.status, 200);
  });

  it('rejects step metadata that are too large', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    const step = { step_id: 's', phase: 'p', metadata: { text: 'x'.repeat(70_000) } };
    const reply = await worker.say(held, 'step', step);
    assert.equal(reply.body.code, 'too_large');
    await worker.ok(held, 'step', { ...step, metadata: {} });
  });

  it('rejects steps and deliverables of a turn that is not running', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.take();
    const step = { step_id: 's', phase: 'p' };
    assert.equal((await worker.say(held, 'step', step)).body.code, 'not_running', 'not started');
    await worker.ok(held, 'start');
    await worker.suspend(held, ['c1']);
    assert.equal((await worker.say(held, 'step', step)).body.code, 'not_running', 'suspended');
    const card = await madeCard(worker.agent, 'task.deliverable', { early: true });
    const early = { status: 'success', deliverable_card_id: card };
    assert.equal((await worker.say(held, 'deliver', early)).body.code, 'not_running');
    await reports(parley.admin, 'worker', held, 'c1');
    await worker.take();
    await worker.ok(held, 'step', step);
  });
});

describe('killed worker', () => {
  const LIFE: ((worker: Worker, held: Held, admin: TestParley['admin']) => Promise<unknown>)[] = [
    (worker, held) => worker.ok(held, 'start'),
    (worker, held) => worker.ok(held, 'step', { step_id: 's1', phase: 'think' }),
    (worker, held) => worker.suspend(held, ['c1']),
    (_, held, admin) => reports(admin, 'worker', held, 'c1'),
    (worker) => worker.take(),
    (worker, held) => worker.ok(held, 'step', { step_id: 's2', phase: 'answer' }),
    (worker, held) => worker.deliver(held),
  ];

  for (let done = 0; done <= LIFE.length; done++) {
    it(`ends a turn once when its worker is killed after ${done} calls, and the agent executes the next turn`, async (t) => {
      const parley = await testParley(t);
      const worker = new Worker(await groundAgent(parley, 'worker'));
      const id = await enqueued(parley.admin, 'worker');
      const held = await worker.take();
      for (const act of LIFE.slice(0, done)) await act(worker, held, parley.admin);
      await eventually(async () => {
        parley.clock.advance(10_000);
        assert.equal((await headOf(parley.admin, 'worker')).status, 'idle');
      });
      const [told, ...more] = await eventually(async () => {
        const events = await taskEvents(parley.admin, id);
        assert.ok(events.length > 0);
        return events;
      });
      assert.equal(more.length, 0);
      assert.equal(told.data.payload.status, done === LIFE.length ? 'success' : 'failed');
      assert.ok(told.data.payload.deliverable_card_id);
      await enqueued(parley.admin, 'worker');
      await worker.deliver(await worker.begin());
    });
  }
});

describe('deliverable', () => {
  it('rejects a deliverable card that does not exist and keeps the turn running', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    const reply = await worker.say(held, 'deliver', {
      status: 'success',
      deliverable_card_id: `card_${'x'.repeat(43)}`,
    });
    assert.equal(reply.body.code, 'unknown_card');
    await worker.deliver(held);
  });
});

describe('stop', () => {
  for (const at of ['dispatched', 'running', 'suspended'] as const) {
    it(`ends a ${at} turn with a deliverable that says canceled`, async (t) => {
      const parley = await testParley(t);
      const requester = await groundAgent(parley, 'requester');
      const worker = new Worker(await groundAgent(parley, 'worker'));
      const id = await enqueued(requester, 'worker');
      const held = await worker.take();
      if (at !== 'dispatched') await worker.ok(held, 'start');
      if (at === 'suspended') await worker.suspend(held, ['c1']);
      const stop = { turn_epoch: held.turn_epoch, reason: 'changed my mind' };
      assert.deepEqual((await requester.call('POST', `/v1/turns/${id}/stop`, stop)).body, { duplicate: false });
      assert.deepEqual((await requester.call('POST', `/v1/turns/${id}/stop`, stop)).body, { duplicate: true });
      assert.equal((await worker.say(held, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn');
      const [told, ...more] = await eventually(async () => {
        const events = await taskEvents(parley.admin, id);
        assert.ok(events.length > 0);
        return events;
      });
      assert.equal(more.length, 0);
      const { status, error, error_code, deliverable_card_id } = told.data.payload;
      assert.deepEqual(
        { status, error, error_code },
        { status: 'canceled', error: 'changed my mind', error_code: 'stopped' },
      );
      const card = await requester.call('GET', `/v1/cards/${deliverable_card_id}`);
      assert.equal(card.body.content.status, 'canceled');
      assert.equal(card.body.type, 'task.deliverable');
    });
  }

  it('removes a turn that no worker has leased from its queue with epoch 0', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const stop = { turn_epoch: 0 };
    assert.deepEqual((await parley.admin.call('POST', `/v1/turns/${id}/stop`, stop)).body, { duplicate: false });
    assert.deepEqual((await parley.admin.call('POST', `/v1/turns/${id}/stop`, stop)).body, { duplicate: true });
    assert.equal(await worker.lease(), undefined);
    await eventually(async () => assert.equal((await taskEvents(parley.admin, id)).length, 1));
    assert.equal((await turnOf(parley.admin, id)).status, 'canceled');
  });

  it('rejects a stop with epoch 0 for a leased turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    const reply = await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: 0 });
    assert.equal(reply.body.code, 'stale_turn');
    await worker.ok(held, 'step', { step_id: 's', phase: 'p' });
  });
});
