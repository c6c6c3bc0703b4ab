import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { messageRouting, mrMessage, newMsgId, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';
import { start, wire } from './message-routing-pair.ts';

const delegation = (dependencies: string[] = []): Wire =>
  mrMessage('task-delegation', 'coordinator-main', 'coder-1', {
    payload: { task: 'One of several', context: { dependencies } },
  });

describe('Message Routing delegated task', () => {
  it('delivers the request, the status update and the result of a task unchanged', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const asked = await delegate({ requires_ack: true, priority: 8, extra: { of: 'the sender' } });
    const [{ message }] = await coder.claim();
    assert.deepEqual(message, wire(asked));
    const update = await say('status-update', { correlation_id: asked.msg_id });
    assert.equal(update.taskId, asked.taskId);
    const shown = await coordinator.call('GET', `/v1/tasks/${asked.msg_id}?dialect=message-routing`);
    assert.deepEqual(shown.body, wire(update));
    const result = await say('result', { correlation_id: asked.msg_id });
    assert.deepEqual(await coordinator.inbox(20), [wire(result)]);
    const task = await coordinator.task(asked.msg_id);
    assert.deepEqual([task.id, task.state, task.result], [asked.taskId, 'completed', result.payload]);
    const acknowledged = await coordinator.call('POST', '/v1/inbox/ack', { ids: [result.msg_id] });
    assert.equal(acknowledged.body.acknowledged, 1);
    assert.deepEqual(await coordinator.inbox(), []);
  });

  for (const text of ['short', 'long'.repeat(1500)]) {
    it(`reports on a task of ${text.length} characters under its short id, though its first request failed half-way`, async (t) => {
      let isFailing = false;
      const parley = await testParley(t, {
        wrapPorts: (ports) => ({
          ...ports,
          records: {
            ...ports.records,
            create: (item, token) =>
              isFailing && item.pk.includes('#short-id#')
                ? Promise.reject(new ParleyError('storage_unavailable', 'as the test wanted it'))
                : ports.records.create(item, token),
          },
        }),
      });
      const coordinator = await parley.agent('coordinator-main', messageRouting);
      const coder = await parley.agent('coder-1', messageRouting);
      const asked = mrMessage('task-delegation', 'coordinator-main', 'coder-1', { payload: { task: text } });
      isFailing = true;
      assert.equal((await coordinator.send(asked)).status, 503);
      isFailing = false;
      assert.ok((await coordinator.send(asked)).status < 300);
      assert.equal((await coder.claim()).length, 1);
      const { taskId } = (
        await coder.send(mrMessage('result', 'coder-1', 'coordinator-main', { correlation_id: asked.msg_id }))
      ).body;
      assert.equal((await coordinator.task(taskId)).state, 'completed');
    });
  }

  it('accepts a result without a claim, and only from the recipient of the task', async (t) => {
    const { parley, coordinator, delegate, say } = await start(t);
    const asked = await delegate();
    const other = await parley.agent('coder-2', messageRouting);
    const stolen = mrMessage('result', 'coder-2', 'coordinator-main', { correlation_id: asked.msg_id });
    const { status, body } = await other.send(stolen);
    assert.deepEqual([status, body.taskId], [202, undefined]);
    assert.equal((await coordinator.task(asked.taskId)).state, 'requested');
    await say('result', { correlation_id: asked.msg_id });
    assert.equal((await coordinator.task(asked.taskId)).state, 'completed');
  });

  it('identifies a task by its sender, id and timestamp together', async (t) => {
    const { coordinator, delegate } = await start(t);
    const asked = await delegate();
    const { taskId, ...same } = asked;
    const again = await coordinator.send(same);
    assert.deepEqual([again.status, again.body.duplicate, again.body.taskId], [200, true, taskId]);
    const clash = await coordinator.send({ ...same, payload: { task: 'Something else' } });
    assert.deepEqual([clash.status, clash.body.code], [409, 'id_reused']);
    const nextDay = await delegate({ msg_id: asked.msg_id, timestamp: '2026-02-09T15:00:00.000Z' });
    assert.notEqual(nextDay.taskId, taskId);
    assert.equal((await coordinator.task(taskId)).payload.task, asked.payload.task);
  });

  it('resolves a short id to the newest open task, and a repeated result to the task that it ended', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const msg_id = newMsgId();
    const older = await delegate({ msg_id });
    const newer = await delegate({ msg_id, timestamp: '2026-02-09T15:00:00.000Z' });
    const state = async ({ taskId }: Wire) => (await coordinator.task(taskId)).state;
    const first = await say('result', { correlation_id: msg_id });
    assert.deepEqual([await state(older), await state(newer)], ['requested', 'completed']);
    const again = await coder.send(wire(first));
    assert.deepEqual([again.status, again.body.duplicate, again.body.taskId], [200, true, newer.taskId]);
    assert.equal(await state(older), 'requested');
    await say('result', { correlation_id: msg_id });
    assert.equal(await state(older), 'completed');
  });

  it('resolves a short id to the task that the sender of a report holds', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const msg_id = newMsgId();
    const older = await delegate({ msg_id });
    assert.equal((await coder.claim()).length, 1);
    const newer = await delegate({ msg_id, timestamp: '2026-02-09T15:00:00.000Z' });
    await say('status-update', { correlation_id: msg_id });
    const states = await Promise.all([older, newer].map(async ({ taskId }) => (await coordinator.task(taskId)).state));
    assert.deepEqual(states, ['in_progress', 'requested']);
  });

  it('expires a task at its deadline', async (t) => {
    const { parley, coordinator, coder, delegate } = await start(t);
    const context = { deadline: '2026-02-08T15:02:00.000Z' };
    const asked = await delegate({ payload: { task: 'Be quick', context } });
    parley.clock.advance(120_001);
    await settled(parley);
    assert.deepEqual(await coder.claim(), []);
    const [told] = await coordinator.inbox(20);
    assert.deepEqual([told.type, told.correlation_id, told.from], ['result', asked.msg_id, 'parley']);
    assert.deepEqual([told.payload.status, told.payload.parley.status], ['failure', 'expired']);
  });

  it('gives a retried task from another dialect a new deadline', async (t) => {
    const { parley, coder } = await start(t);
    const requester = await parley.agent('requester');
    await requester.request({ to: 'coder-1', ttl: 60, payload: { task: 'security.briefing' } });
    const deadline = async () => (await coder.claim())[0].message.payload.context.deadline;
    assert.equal(Date.parse(await deadline()), parley.clock.now() + 60_000);
    // Its lease ends, and the next claim gets the whole time to live.
    parley.clock.advance(300_000);
    await settled(parley);
    parley.clock.advance(2000);
    await settled(parley);
    assert.ok(Date.parse(await deadline()) > parley.clock.now());
  });

  it('keeps the original requester of a task, and rejects a delegation back to that agent', async (t) => {
    const { parley, coordinator, coder, delegate } = await start(t);
    const security = await parley.agent('security', messageRouting);
    const asked = await delegate();
    const metadata = { original_requester: 'coordinator-main', delegation_reason: 'Knows more' };
    const payload = { task: 'Audit it', metadata };
    const passedOn = mrMessage('task-delegation', 'coder-1', 'security', { correlation_id: asked.msg_id, payload });
    const { body } = await coder.send(passedOn);
    assert.equal((await coder.task(body.taskId)).parentTaskId, asked.taskId);
    const [{ message }] = await security.claim();
    assert.deepEqual(message.payload, payload);
    const back = mrMessage('task-delegation', 'coder-1', 'coordinator-main', { payload });
    const refused = await coder.send(back);
    assert.deepEqual([refused.status, refused.body.code], [422, 'delegation_cycle']);
    assert.deepEqual(await coordinator.claim(), []);
  });

  it('queues a task after its dependencies in the same call, before or after it', async (t) => {
    const { coordinator, coder } = await start(t);
    const [first, last, about] = [delegation(), delegation(), delegation()];
    const [early, late] = [delegation([last.msg_id, about.msg_id]), delegation([first.msg_id])];
    about.payload.context.dependencies = [last.msg_id];
    const messages = [early, first, late, last, about];
    const { body } = await coordinator.call('POST', '/v1/messages', { messages });
    assert.deepEqual(
      body.results.map(({ status, body: one }: Wire) => [status, one.id, one.ignoredDependencies]),
      messages.map(({ msg_id }) => [202, msg_id, undefined]),
    );
    const ids = body.results.map(({ body: one }: Wire) => one.taskId);
    const waiting = async (at: number) => (await coordinator.task(ids[at])).dependencies;
    assert.deepEqual(await Promise.all([0, 2, 4].map(waiting)), [[ids[3], ids[4]], [ids[1]], [ids[3]]]);
    assert.equal((await coder.claim({ max: 10 })).length, 2);
    const again = await coordinator.call('POST', '/v1/messages', { messages });
    assert.deepEqual(
      again.body.results.map(({ status }: Wire) => status),
      [200, 200, 200, 200, 200],
    );
  });

  it('rejects the delegations of a call that form a cycle, and accepts the others', async (t) => {
    const { parley, coordinator, coder } = await start(t);
    const ring = [delegation(), delegation(), delegation(), delegation()];
    const ids = ring.map(({ msg_id }) => msg_id);
    // The fourth is part of two cycles, and is visited first on a path that is none.
    const waits = [[1, 3], [0], [], [1]];
    for (const [at, message] of ring.entries()) {
      message.payload.context.dependencies = waits[at]?.map((other) => ids[other]);
    }
    const { body } = await coordinator.call('POST', '/v1/messages', { messages: ring });
    const told = body.results.map(({ status, body: one }: Wire) => [status, one.code, one.cycle?.toSorted()]);
    const circle = [422, 'task_graph_cycle', [ids[0], ids[1], ids[3]].toSorted()];
    assert.deepEqual(told, [circle, circle, [202, undefined, undefined], circle]);
    assert.equal((await coder.claim({ max: 10 })).length, 1);
    assert.equal((await parley.admin.call('GET', '/v1/tasks')).body.tasks.length, 1);
  });

  it('reports the unknown dependencies of a task, and does not wait for them', async (t) => {
    const { coordinator, coder } = await start(t);
    const asked = delegation(['msg_00000000']);
    const itself = delegation();
    itself.payload.context.dependencies = [itself.msg_id];
    const { body } = await coordinator.call('POST', '/v1/messages', { messages: [asked, itself] });
    assert.deepEqual(
      body.results.map(({ status, body: one }: Wire) => [status, one.ignoredDependencies]),
      [
        [202, ['msg_00000000']],
        [202, [itself.msg_id]],
      ],
    );
    assert.equal((await coder.claim({ max: 10 })).length, 2);
  });

  it('accepts a result in the same call as its request', async (t) => {
    const { parley } = await start(t);
    const asked = mrMessage('task-delegation', 'coordinator-main', 'coder-1');
    const done = mrMessage('result', 'coder-1', 'coordinator-main', { correlation_id: asked.msg_id });
    const { body } = await parley.admin.call('POST', '/v1/messages', { messages: [asked, done] });
    assert.deepEqual(
      body.results.map(({ status }: Wire) => status),
      [202, 202],
    );
  });

  it('queues a task after the tasks among its dependencies, and delivers their results', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const first = await delegate();
    const dependencies = [first.msg_id, 'msg_00000000', 'a review'];
    const next = await delegate({ payload: { task: 'Then this', context: { dependencies } } });
    assert.equal((await coordinator.task(next.taskId)).state, 'waiting');
    const { payload: result } = await say('result', { correlation_id: first.msg_id });
    const [{ message }] = await coder.claim({ wait: 20 });
    const { results, ...payload } = message.payload;
    assert.deepEqual({ ...message, payload }, wire(next));
    assert.deepEqual(results, { [first.msg_id]: { taskId: first.taskId, agent: 'coder-1', result } });
  });

  it('rejects a task with more than 48 dependencies', async (t) => {
    const { parley, coordinator } = await start(t);
    const waiting = (dependencies: string[]) =>
      mrMessage('task-delegation', 'coordinator-main', 'coder-1', {
        payload: { task: 'x', context: { dependencies } },
      });
    const names = Array.from({ length: 49 }, newMsgId);
    await refusedWithoutTrace(parley, 413, 'too_large', () => coordinator.send(waiting(names)));
    const twice = [...names.slice(1), ...names.slice(1)];
    const { status, body } = await coordinator.send(waiting(twice));
    assert.deepEqual([status, body.ignoredDependencies], [202, names.slice(1)]);
  });

  it('shows a task by its short id to its requester, its recipient and administrators only', async (t) => {
    const { parley, delegate } = await start(t);
    const asked = await delegate();
    const stranger = await parley.agent('stranger', messageRouting);
    assert.equal((await stranger.call('GET', `/v1/tasks/${asked.msg_id}`)).status, 404);
    assert.equal((await parley.admin.call('GET', `/v1/tasks/${asked.msg_id}`)).body.id, asked.taskId);
    const cancelled = await parley.admin.call('POST', `/v1/tasks/${asked.msg_id}/cancel`);
    assert.equal(cancelled.body.state, 'cancelled');
  });
});
