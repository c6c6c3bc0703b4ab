import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { start, wire } from './message-routing-pair.ts';

describe('Message Routing result', () => {
  it('completes a task with a partial result, and marks it as partial in other dialects', async (t) => {
    const { parley, coder } = await start(t);
    const asker = await parley.agent('asker', { dialect: 'agent-os' });
    const id = await asker.call('POST', '/v1/messages', {
      id: '8b2f5a0e-0000-4000-8000-000000000001',
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: { agentId: 'asker' },
      to: { agentId: 'coder-1' },
      type: 'query',
      payload: { content: 'How far?' },
    });
    assert.equal(id.status, 202, JSON.stringify(id.body));
    const [{ message }] = await coder.claim();
    assert.equal(message.msg_id, 'msg_8b2f5a0e');
    const payload = { status: 'partial', metrics: { confidence: 0.88 }, next_steps: ['the rest'] };
    const result = mrMessage('result', 'coder-1', 'asker', { correlation_id: message.msg_id, payload });
    assert.equal((await coder.send(result)).status, 202);
    const [read] = await asker.inbox(20);
    assert.deepEqual([read.type, read.payload.content], ['response', payload]);
    assert.deepEqual([read.evidence.confidence, read.parley['message-routing'].isPartial], [88, true]);
    assert.deepEqual(read.evidence.sources, [{ id: read.from.agentId, name: read.from.agentId, type: 'agent' }]);
  });

  it('fails a task for good with a result of status failure', async (t) => {
    const { parley, coordinator, coder, delegate, say } = await start(t);
    const asked = await delegate();
    await coder.claim();
    const payload = { status: 'failure', issues: ['no access', 'no time'] };
    const failure = await say('result', { correlation_id: asked.msg_id, payload });
    await settled(parley);
    const task = await coordinator.task(asked.taskId);
    assert.deepEqual([task.state, task.error.message, task.error.recoverable], ['failed', 'no access\nno time', false]);
    assert.deepEqual(await coordinator.inbox(20), [wire(failure)]);
  });

  it('resolves a result without a correlation to the only task that its sender holds for its recipient', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const asked = await delegate();
    const lonely = mrMessage('result', 'coder-1', 'coordinator-main');
    assert.equal((await coder.send(lonely)).body.taskId, undefined);
    await coder.claim();
    const result = await say('result', { correlation_id: null });
    assert.equal(result.taskId, asked.taskId);
    const again = await coder.send(wire(result));
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.equal((await coordinator.task(asked.taskId)).state, 'completed');
  });
});

describe('Message Routing result that ends no task', () => {
  it('is delivered as it was sent, with a notice to its sender, whatever it claims to answer', async (t) => {
    const { parley, coordinator, coder } = await start(t);
    const command = mrMessage('command', 'coordinator-main', 'coder-1', { payload: { action: 'health_check' } });
    assert.equal((await coordinator.send(command)).status, 202);
    const other = await parley.agent('coder-2', messageRouting);
    const foreign = mrMessage('task-delegation', 'coder-1', 'coder-2');
    assert.equal((await coder.send(foreign)).status, 202);
    const results = [undefined, command.msg_id, foreign.msg_id].map((correlation_id) =>
      mrMessage('result', 'coder-1', 'coordinator-main', { correlation_id }),
    );
    for (const result of results) {
      const { status, body } = await coder.send(result);
      assert.deepEqual([status, body.notices?.length], [202, 1], JSON.stringify(body));
      const again = await coder.send(result);
      assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    }
    assert.deepEqual(await coordinator.inbox(), JSON.parse(JSON.stringify(results)));
    assert.equal((await other.claim()).length, 1);
  });

  it('is delivered after a partial result of the same agent, and changes nothing', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const { taskId, msg_id: correlation_id } = await delegate();
    await coder.claim();
    const partial = { status: 'partial', deliverables: { files_modified: ['/src/a.ts'] } };
    const first = await say('result', { correlation_id, payload: partial });
    assert.equal((await coordinator.task(taskId)).state, 'completed');
    const progress = await say('status-update', { correlation_id });
    const rest = await say('result', { correlation_id, payload: { status: 'success' } });
    const again = await coder.send(wire(rest));
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.deepEqual(await coordinator.inbox(20), [first, progress, rest].map(wire));
    const { state, result } = await coordinator.task(taskId);
    assert.deepEqual([state, result.status], ['completed', 'partial']);
  });

  it('is rejected for a task that was cancelled, so that its holder learns of that', async (t) => {
    const { coordinator, coder, delegate } = await start(t);
    const { taskId, msg_id: correlation_id } = await delegate();
    await coder.claim();
    assert.equal((await coordinator.call('POST', `/v1/tasks/${taskId}/cancel`)).status, 200);
    const late = await coder.send(mrMessage('result', 'coder-1', 'coordinator-main', { correlation_id }));
    assert.deepEqual([late.status, late.body.code], [409, 'cancelled']);
  });
});

describe('Message Routing status update', () => {
  it('asks the coordinator what to do with a blocked status update, and shows its blockers', async (t) => {
    const { parley, coordinator, coder, delegate, say } = await start(t);
    const asked = await delegate();
    await coder.claim();
    const payload = { status: 'blocked', progress: 0.29, message: 'waiting', confidence: 0.5, blockers: ['a key'] };
    await say('status-update', { payload });
    const { state, progress } = await coordinator.task(asked.taskId);
    assert.equal(state, 'input_required');
    assert.deepEqual([progress.percent, progress.blockers, progress.confidence], [29, ['a key'], 0.5]);
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=task.input_required')).body;
    const told = events.find(({ data }: Wire) => data.taskId === asked.taskId);
    assert.deepEqual([told.data.message, told.data.blockers], ['waiting', ['a key']]);
  });

  it('keeps a task in progress after a status update completed, and ends it after one failed', async (t) => {
    const { coordinator, coder, delegate, say } = await start(t);
    const asked = await delegate();
    await coder.claim();
    await say('status-update', { correlation_id: asked.msg_id, payload: { status: 'completed' } });
    const task = await coordinator.task(asked.taskId);
    assert.deepEqual([task.state, task.progress.percent], ['in_progress', 100]);
    const failed = { status: 'failed', message: 'the tests broke' };
    const last = await say('status-update', { correlation_id: asked.msg_id, payload: failed });
    assert.equal((await coordinator.task(asked.taskId)).state, 'failed');
    assert.deepEqual(await coordinator.inbox(20), [{ ...wire(last) }]);
  });

  it('takes a status update about no task as the status report of its agent and as a direct message', async (t) => {
    const { coordinator, parley, say } = await start(t);
    const update = await say('status-update', { payload: { status: 'blocked', blockers: ['nothing to do'] } });
    assert.deepEqual(await coordinator.inbox(), [wire(update)]);
    const { health } = (await parley.admin.call('GET', '/v1/agents/coder-1')).body;
    assert.deepEqual([health.statusReport.status, health.statusReport.blockers], ['blocked', ['nothing to do']]);
  });
});

describe('Message Routing heartbeat', () => {
  it('sets the health of an agent from its heartbeat, and unhealthy after 30 s of silence', async (t) => {
    const { parley, say } = await start(t);
    const health = async () => (await parley.admin.call('GET', '/v1/agents/coder-1')).body.health;
    await say('heartbeat', {
      payload: { health: 'degraded', metrics: { cpu_usage: 0.9, memory_mb: 12.5 }, uptime_ms: 90_000 },
    });
    const { online, status, cpuUsage, memoryMb, uptime } = await health();
    assert.deepEqual([online, status, cpuUsage, memoryMb, uptime], [true, 'degraded', 0.9, 12.5, 90]);
    parley.clock.advance(29_000);
    await settled(parley);
    assert.equal((await health()).status, 'degraded');
    parley.clock.advance(1500);
    await settled(parley);
    assert.deepEqual([(await health()).status, (await health()).online], ['unhealthy', false]);
    await say('heartbeat', { timestamp: '2026-03-01T12:00:40.000Z' });
    assert.equal((await health()).status, 'healthy');
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=agent.health')).body;
    const told = events.map(({ data }: Wire) => data.status);
    assert.deepEqual(told, ['degraded', 'unhealthy', 'healthy']);
  });
});
