import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const withTask = async (parley: TestParley) => {
  const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
  return { tim, galahad, id: await tim.request() };
};

const result = { status: 'completed', result: { content: 'done' } };

describe('repeated Round Table message', () => {
  it('creates one task from a repeated request', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const { payload, ...envelope } = taskRequest('tim');
    assert.deepEqual((await tim.send({ ...envelope, payload })).body, {
      id: envelope.id,
      dialect: 'round-table',
      duplicate: false,
      taskId: envelope.id,
    });
    const again = await tim.send({ payload, ...envelope });
    assert.equal(again.status, 200);
    assert.equal(again.body.duplicate, true);
    assert.equal((await galahad.claim({ max: 10 })).length, 1);
    assert.equal((await tim.send({ payload, ...envelope })).status, 200);
    assert.deepEqual(await galahad.claim(), []);
  });

  it('creates one task from eight concurrent copies of a request', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim', { payload: { params: { text: 'x'.repeat(10_000) } } });
    const replies = await Promise.all(Array.from({ length: 8 }, () => tim.send(request)));
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 202]);
    const claimed = await galahad.claim({ max: 10 });
    assert.deepEqual(
      claimed.map(({ message }) => message.payload),
      [request.payload],
    );
  });

  const reports: [type: string, payload: object][] = [
    ['task.claimed', { message: 'mine' }],
    ['task.progress', { percent: 10 }],
    ['task.result', result],
    ['task.failed', { error: 'invalid_params' }],
    ['task.failed', { error: 'model_error' }],
  ];
  for (const [type, payload] of reports) {
    it(`accepts a repeated report once, and rejects other content under its id: ${type} ${JSON.stringify(payload)}`, async (t) => {
      const parley = await testParley(t);
      const { galahad, id } = await withTask(parley);
      const message = about(type, 'galahad', id, payload);
      assert.equal((await galahad.send(message)).status, 202);
      const again = await galahad.send(message);
      assert.equal(again.status, 200);
      assert.equal(again.body.duplicate, true);
      const other = { ...message, payload: { ...payload, message: 'something else' } };
      await refusedWithoutTrace(parley, 409, 'id_reused', () => galahad.send(other));
      const later = { ...message, timestamp: '2026-02-08T16:00:00Z' };
      assert.equal((await galahad.send(later)).status, 200);
    });
  }

  it('rejects a request with other content under the same id', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const request = taskRequest('tim');
    await tim.send(request);
    const other = { ...request, payload: { ...request.payload, params: { scope: 'x'.repeat(10_000) } } };
    await refusedWithoutTrace(parley, 409, 'id_reused', () => tim.send(other));
    await refusedWithoutTrace(parley, 409, 'id_reused', () => tim.send({ ...request, priority: 'high' }));
  });

  it('rejects a request of another agent under the same id', async (t) => {
    const parley = await testParley(t);
    const [tim, kay] = [await parley.agent('tim'), await parley.agent('kay')];
    const request = taskRequest('tim');
    await tim.send(request);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => kay.send({ ...request, from: 'kay' }));
  });

  it('rejects a report of another type under the same id', async (t) => {
    const parley = await testParley(t);
    const { galahad, id } = await withTask(parley);
    const progress = about('task.progress', 'galahad', id, { percent: 10 });
    await galahad.send(progress);
    const failed = { ...progress, type: 'task.failed', payload: { error: 'invalid_params' } };
    await refusedWithoutTrace(parley, 409, 'id_reused', () => galahad.send(failed));
    const completed = { ...progress, type: 'task.result', payload: result };
    await refusedWithoutTrace(parley, 409, 'id_reused', () => galahad.send(completed));
  });

  it('recognizes a repeated report after a restart', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad, id } = await withTask(parley);
    const message = about('task.result', 'galahad', id, result);
    await galahad.send(message);
    await parley.restart();
    assert.equal((await galahad.send(message)).status, 200);
    assert.equal((await tim.inbox(20)).length, 1);
  });
});

describe('ended Round Table task', () => {
  it('rejects any further report on an ended task', async (t) => {
    const parley = await testParley(t);
    const { galahad, id } = await withTask(parley);
    await galahad.complete(id);
    await refusedWithoutTrace(parley, 409, 'task_ended', () => galahad.complete(id, { content: 'another' }));
    await refusedWithoutTrace(parley, 409, 'task_ended', () => galahad.complete(id, { content: 'x'.repeat(10_000) }));
    await refusedWithoutTrace(parley, 409, 'task_ended', () => galahad.fail(id));
    await refusedWithoutTrace(parley, 409, 'task_ended', () => galahad.progress(id));
    await refusedWithoutTrace(parley, 409, 'task_ended', () => galahad.call('POST', `/v1/tasks/${id}/renew`));
  });

  it('rejects a retry and a cancellation of a completed task', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad, id } = await withTask(parley);
    await galahad.complete(id);
    await refusedWithoutTrace(parley, 409, 'not_retryable', () => tim.call('POST', `/v1/tasks/${id}/retry`));
    await refusedWithoutTrace(parley, 409, 'task_ended', () => tim.call('POST', `/v1/tasks/${id}/cancel`));
  });
});

describe('cancelled Round Table task', () => {
  it('notifies the holder of a cancelled task, and rejects the reports of the holder', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad, id } = await withTask(parley);
    await galahad.claim();
    const reply = await tim.call('POST', `/v1/tasks/${id}/cancel`);
    assert.equal(reply.body.state, 'cancelled');
    const [told] = await galahad.inbox(20);
    assert.equal(told.correlationId, id);
    assert.equal(told.payload.error, 'cancelled');
    await refusedWithoutTrace(parley, 409, 'cancelled', () => galahad.progress(id));
    await refusedWithoutTrace(parley, 409, 'cancelled', () => galahad.complete(id));
    await refusedWithoutTrace(parley, 409, 'cancelled', () => galahad.call('POST', `/v1/tasks/${id}/renew`));
    assert.deepEqual(await tim.inbox(), []);
  });

  it('gives a cancelled task to nobody, and accepts another cancellation without effect', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad, id } = await withTask(parley);
    await tim.call('POST', `/v1/tasks/${id}/cancel`);
    const before = await tim.task(id);
    parley.clock.advance(1000);
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
    await settled(parley);
    assert.deepEqual(await tim.task(id), before);
    assert.deepEqual(await galahad.claim(), []);
  });

  it('rejects a cancellation by anyone but the requester of the task and administrators', async (t) => {
    const parley = await testParley(t);
    const { galahad, id } = await withTask(parley);
    const kay = await parley.agent('kay', { capabilities: ['home.scene'] });
    await refusedWithoutTrace(parley, 403, 'forbidden', () => galahad.call('POST', `/v1/tasks/${id}/cancel`));
    await refusedWithoutTrace(parley, 404, 'task_not_found', () => kay.call('POST', `/v1/tasks/${id}/cancel`));
    await refusedWithoutTrace(parley, 404, 'task_not_found', () =>
      parley.admin.call('POST', `/v1/tasks/${randomUUID()}/cancel`),
    );
    assert.equal((await parley.admin.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
  });
});
