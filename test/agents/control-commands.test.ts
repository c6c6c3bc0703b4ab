import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const coordinator = await parley.agent('coordinator', { ...messageRouting, role: 'coordinator' });
  const tester = await parley.agent('tester', { ...messageRouting, capabilities: ['security.briefing'] });
  const order = (action: string, parameters: object = {}) =>
    coordinator.send(mrMessage('command', 'coordinator', 'tester', { payload: { action, parameters } }));
  const claim = async () => (await tester.call('POST', '/v1/claims', { max: 10 })).body;
  const events = async () => {
    await settled(parley);
    const { events: all } = (await parley.admin.call('GET', '/v1/events?limit=200')).body;
    return all.filter(({ type }: Wire) => /^agent\.(paused|stopped|resumed|health)/.test(type));
  };
  return { parley, coordinator, tester, order, claim, events };
};

describe('control command', () => {
  it('keeps tasks from a paused agent, leaves it its inbox, and gives it tasks again after resume', async (t) => {
    const { coordinator, tester, order, claim, events } = await start(t);
    assert.equal((await order('pause', { reason: 'a fix is on its way' })).status, 202);
    await coordinator.send(mrMessage('task-delegation', 'coordinator', 'tester'));
    await coordinator.request();
    const { tasks, paused } = await claim();
    assert.deepEqual(
      [tasks, paused.action, paused.by, paused.reason],
      [[], 'pause', 'coordinator', 'a fix is on its way'],
    );
    assert.equal((await tester.inbox())[0].payload.action, 'pause');
    assert.equal((await order('resume')).status, 202);
    const again = await claim();
    assert.equal(again.paused, undefined);
    assert.ok(again.tasks.length > 0);
    assert.deepEqual(
      (await events()).map(({ type }: Wire) => type),
      ['agent.paused', 'agent.resumed'],
    );
  });

  it('ends a pause after its timeout', async (t) => {
    const { parley, coordinator, order, claim, events } = await start(t);
    await order('pause', { timeout_ms: 300_000 });
    await coordinator.send(mrMessage('task-delegation', 'coordinator', 'tester'));
    parley.clock.advance(299_999);
    assert.deepEqual((await claim()).tasks, []);
    parley.clock.advance(1);
    assert.equal((await claim()).tasks.length, 1);
    assert.deepEqual(
      (await events()).map(({ type }: Wire) => type),
      ['agent.paused', 'agent.resumed'],
    );
  });

  it('holds a waiting claim of a paused agent until the wait is over', async (t) => {
    const { parley, tester, order } = await start(t);
    await order('pause');
    const reply = tester.call('POST', '/v1/claims', { wait: 20 });
    let isAnswered = false;
    reply.then(() => {
      isAnswered = true;
    });
    await settled(parley);
    parley.clock.advance(19_999);
    await settled(parley);
    assert.equal(isAnswered, false);
    parley.clock.advance(1);
    const { tasks, paused } = (await reply).body;
    assert.deepEqual([tasks, paused.action], [[], 'pause']);
  });

  for (const [ending, parameters] of [
    ['resume', {}],
    ['its timeout', { timeout_ms: 10_000 }],
  ] as const) {
    it(`holds a waiting claim of a paused agent until ${ending}`, async (t) => {
      const { parley, coordinator, tester, order } = await start(t);
      await order('pause', parameters);
      await coordinator.send(mrMessage('task-delegation', 'coordinator', 'tester'));
      const reply = tester.call('POST', '/v1/claims', { wait: 20 });
      await settled(parley);
      if (ending === 'resume') await order('resume');
      else parley.clock.advance(10_000);
      const { tasks, paused } = (await reply).body;
      assert.deepEqual([tasks.length, paused], [1, undefined]);
    });
  }

  it('reports a pause to a claim that waited before it', async (t) => {
    const { parley, tester, order } = await start(t);
    const reply = tester.call('POST', '/v1/claims', { wait: 20 });
    await settled(parley);
    await order('pause');
    parley.clock.advance(20_000);
    const { tasks, paused } = (await reply).body;
    assert.deepEqual([tasks, paused.action], [[], 'pause']);
  });

  it('ends a stop only with start', async (t) => {
    const { parley, coordinator, order, claim } = await start(t);
    await order('stop', { timeout_ms: 1000 });
    await coordinator.send(mrMessage('task-delegation', 'coordinator', 'tester'));
    assertRefused(await order('resume'), 409, 'agent_stopped');
    assertRefused(await order('pause'), 409, 'agent_stopped');
    parley.clock.advance(60_000);
    await settled(parley);
    assert.deepEqual([(await claim()).tasks, (await claim()).paused.action], [[], 'stop']);
    assert.equal((await order('start')).status, 202);
    assert.equal((await claim()).tasks.length, 1);
  });

  it('executes a repeated control command once', async (t) => {
    const { coordinator, order, claim } = await start(t);
    const pause = mrMessage('command', 'coordinator', 'tester');
    await coordinator.send(pause);
    await order('resume');
    assert.equal((await coordinator.send(pause)).body.duplicate, true);
    assert.equal((await claim()).paused, undefined);
  });

  it('sets an agent unhealthy that does not answer a health check in time', async (t) => {
    const { parley, tester, order, events } = await start(t);
    const health = async () => (await parley.admin.call('GET', '/v1/agents/tester')).body.health.status;
    const beat = () =>
      tester.send(
        mrMessage('heartbeat', 'tester', 'coordinator', { timestamp: new Date(parley.clock.now()).toISOString() }),
      );
    await order('health_check', { timeout_ms: 5000 });
    await beat();
    parley.clock.advance(5001);
    await settled(parley);
    assert.equal(await health(), 'healthy');
    await order('health_check', { timeout_ms: 5000 });
    parley.clock.advance(5001);
    await settled(parley);
    assert.equal(await health(), 'unhealthy');
    parley.clock.advance(1);
    await beat();
    assert.deepEqual(
      (await events()).map(({ data }: Wire) => data.status),
      ['healthy', 'unhealthy', 'healthy'],
    );
  });

  it('does not postpone an unanswered health check by a later one', async (t) => {
    const { parley, order, events } = await start(t);
    for (const timeout_ms of [30_000, 30_000, 60_000]) {
      assert.equal((await order('health_check', { timeout_ms })).status, 202);
      parley.clock.advance(10_000);
      await settled(parley);
    }
    assert.deepEqual(
      (await events()).map(({ at, data }: Wire) => [at, data.status]),
      [[Date.parse('2026-03-01T12:00:30Z'), 'unhealthy']],
    );
  });

  for (const [action, timeout_ms] of [
    ['health_check', 60_000],
    ['pause', 300_000],
  ] as const) {
    it(`does not postpone the detection of a silent agent by ${action}`, async (t) => {
      const { parley, tester, order, events } = await start(t);
      await tester.send(mrMessage('heartbeat', 'tester', 'coordinator'));
      parley.clock.advance(25_000);
      await order(action, { timeout_ms });
      await settled(parley);
      parley.clock.advance(5000);
      const found = (await events()).filter(({ data }: Wire) => data.status === 'unhealthy');
      assert.deepEqual(
        found.map(({ at }: Wire) => at),
        [Date.parse('2026-03-01T12:00:30Z')],
      );
    });
  }

  it('pauses an agent that waits for work', async (t) => {
    const { coordinator, tester, order } = await start(t);
    const waiting = tester.call('POST', '/v1/claims', { wait: 20 });
    await order('pause');
    await coordinator.send(mrMessage('task-delegation', 'coordinator', 'tester'));
    const { tasks, paused } = (await waiting).body;
    assert.deepEqual([tasks, paused.action], [[], 'pause']);
    await order('resume');
    assert.equal((await tester.claim()).length, 1);
  });

  it('rejects claiming reports of a paused or stopped agent, and accepts results of tasks that it holds', async (t) => {
    const { parley, coordinator } = await start(t);
    const worker = await parley.agent('worker');
    const order = (action: string, parameters: object = {}) =>
      coordinator.send(mrMessage('command', 'coordinator', 'worker', { payload: { action, parameters } }));
    const [held, waiting] = [await coordinator.request(), await coordinator.request()];
    await worker.claimed(held);
    await order('pause', { timeout_ms: 300_000 });
    const reports = [
      () => worker.claimed(waiting),
      () => worker.progress(waiting),
      () => worker.complete(waiting),
      () => worker.fail(waiting),
    ];
    for (const report of reports) {
      const { body } = await refusedWithoutTrace(parley, 409, 'agent_paused', report);
      assert.match(body.detail, /coordinator has paused worker.* before "resume" or 2026-03-01T12:05:00/);
    }
    assert.equal((await worker.complete(held)).status, 202);
    await order('stop');
    const { body } = await refusedWithoutTrace(parley, 409, 'agent_paused', () => worker.claimed(waiting));
    assert.match(body.detail, /coordinator has stopped worker.* before "start"/);
    await order('start');
    assert.equal((await worker.claimed(waiting)).status, 202);
  });

  it('accepts control commands only from coordinators and administrators', async (t) => {
    const { parley, tester, claim } = await start(t);
    const other = await parley.agent('other', messageRouting);
    assertRefused(await tester.send(mrMessage('command', 'tester', 'other')), 403, 'forbidden');
    assert.deepEqual(await other.inbox(), []);
    const byAdmin = await parley.admin.call('POST', '/v1/messages', mrMessage('command', 'other', 'tester'));
    assert.equal(byAdmin.status, 202);
    assert.equal((await claim()).paused.by, 'other');
    const nobody = mrMessage('command', 'other', 'nobody');
    assertRefused(await parley.admin.call('POST', '/v1/messages', nobody), 422, 'unknown_agent');
  });
});
