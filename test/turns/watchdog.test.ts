import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, eventsOf, groundAgent, headOf, reports, taskEvents, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const bells = async ({ admin }: TestParley) =>
  (await eventsOf(admin, 'cmd.agent.wakeup')).map(({ data }) => data.payload.reason);

const state = async ({ admin }: TestParley) => (await headOf(admin, 'worker')).status;

const told = (parley: TestParley, id: string) =>
  eventually(async () => {
    const [event, ...more] = await taskEvents(parley.admin, id);
    assert.ok(event);
    assert.equal(more.length, 0);
    return event.data.payload;
  });

describe('watchdog', () => {
  it('sends a second wake-up after 5 s for a turn that no worker leases, then with growing pauses', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'worker');
    await enqueued(parley.admin, 'worker');
    await eventually(async () => assert.deepEqual(await bells(parley), ['enqueue']));
    parley.clock.advance(4999);
    parley.clock.advance(1);
    await eventually(async () => assert.deepEqual(await bells(parley), ['enqueue', 'again']));
    parley.clock.advance(9999);
    assert.equal((await bells(parley)).length, 2);
    parley.clock.advance(1);
    await eventually(async () => assert.deepEqual(await bells(parley), ['enqueue', 'again', 'again']));
  });

  it('sends no wake-up for a turn whose agent is busy until that agent is free', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await enqueued(parley.admin, 'worker');
    await eventually(async () => assert.equal((await bells(parley)).length, 2));
    parley.clock.advance(60_000);
    await worker.ok(held, 'step', { step_id: 's', phase: 'p' });
    assert.equal((await bells(parley)).length, 2);
    await worker.deliver(held);
    await eventually(async () => assert.equal((await bells(parley)).length, 3));
  });

  it('wakes the worker of a leased turn that has not started after 10 s and reaps the turn after 30 s', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    await eventually(async () => assert.equal((await bells(parley)).length, 1));
    await worker.take();
    parley.clock.advance(10_000);
    await eventually(async () => assert.deepEqual(await bells(parley), ['enqueue', 'again']));
    parley.clock.advance(19_999);
    assert.equal(await state(parley), 'dispatched');
    parley.clock.advance(1);
    await eventually(async () => assert.equal(await state(parley), 'idle'));
    const payload = await told(parley, id);
    assert.equal(payload.status, 'failed');
    assert.equal(payload.error_code, 'reaped');
    assert.ok(payload.deliverable_card_id, 'delivered as well as could be');
    assert.equal((await headOf(parley.admin, 'worker')).turn_epoch, 2);
  });

  it('reaps a running turn after 300 s without a report and not before', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    for (let step = 0; step < 4; step++) {
      parley.clock.advance(200_000);
      await worker.ok(held, 'step', { step_id: `s${step}`, phase: 'p' });
    }
    parley.clock.advance(299_999);
    await eventually(async () => assert.equal(await state(parley), 'running'));
    parley.clock.advance(1);
    assert.equal((await told(parley, id)).error_code, 'reaped');
  });

  it('writes a timeout report for each late tool call and resumes the turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['in-time', 'late', 'never'], { deadline_seconds: 20 });
    parley.clock.advance(15_000);
    await reports(parley.admin, 'worker', held, 'in-time');
    parley.clock.advance(4999);
    assert.equal(await state(parley), 'suspended');
    parley.clock.advance(1);
    await eventually(async () => assert.equal(await state(parley), 'running'));
    assert.deepEqual((await reports(parley.admin, 'worker', held, 'late')).body, {
      applied: false,
      reason: 'duplicate',
    });
    const { inbox, turn_epoch } = await worker.take();
    assert.equal(turn_epoch, held.turn_epoch);
    assert.deepEqual(
      inbox.map(({ tool_call_id, message_type, status }) => [tool_call_id, message_type, status]),
      [
        ['in-time', 'tool_result', 'success'],
        ['late', 'timeout', 'timeout'],
        ['never', 'timeout', 'timeout'],
      ],
    );
    const card = await worker.agent.call('GET', `/v1/cards/${inbox[1].tool_result_card_id}`);
    assert.equal(card.body.content.status, 'timeout');
    await worker.deliver(held);
  });

  it('reaps a resumed turn that its worker does not continue, but never a turn that waits for tools', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['c1'], { deadline_seconds: 3600 });
    for (let round = 0; round < 6; round++) {
      parley.clock.advance(500_000);
      await eventually(async () => assert.equal(await state(parley), 'suspended'));
    }
    const rungBefore = (await bells(parley)).length;
    await reports(parley.admin, 'worker', held, 'c1');
    await eventually(async () => assert.equal((await bells(parley)).at(-1), 'resume'));
    parley.clock.advance(10_000);
    await eventually(async () => assert.deepEqual((await bells(parley)).slice(rungBefore), ['resume', 'again']));
    assert.equal((await turnOf(parley.admin, id)).status, 'running');
    for (let round = 0; round < 32; round++) {
      parley.clock.advance(10_000);
      await parley.admin.call('GET', '/v1/agents/worker/head');
    }
    assert.equal((await told(parley, id)).error_code, 'reaped');
  });

  it('ends a turn that no worker leases within a week', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    parley.clock.advance(parley.parley.deps.config.turns.retentionMs);
    await eventually(async () => {
      parley.clock.advance(10_000);
      assert.equal((await turnOf(parley.admin, id)).status, 'canceled');
    });
    assert.equal((await told(parley, id)).error_code, 'stopped');
    assert.equal(await worker.lease(), undefined);
  });
});
