import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const LARGE = 'x'.repeat(20_000);
const RESULT = { format: 'markdown', content: LARGE };

/** A system that notes which blobs were put and which of them are left, and can be interrupted after each. */
const watched = async (t: TestContext) => {
  const [put, left] = [new Set<string>(), new Set<string>()];
  const hooks = { afterPut: async (): Promise<unknown> => undefined };
  const parley = await testParley(t, {
    wrapPorts: (ports) => ({
      ...ports,
      blobs: {
        get: (key) => ports.blobs.get(key),
        retain: (key) => ports.blobs.retain(key),
        put: async (key, content) => {
          put.add(key);
          left.add(key);
          await ports.blobs.put(key, content);
          await hooks.afterPut();
        },
        delete: async (key) => {
          left.delete(key);
          await ports.blobs.delete(key);
        },
      },
    }),
  });
  return { ...parley, put, left, hooks };
};

describe('large content that is refused', () => {
  it('is not even stored where it is the result of a task that another holds, that has ended, or that is not there', async (t) => {
    const { agent, put } = await watched(t);
    const [tim, galahad, mallory] = [await agent('tim'), await agent('galahad'), await agent('mallory', taskFormat)];
    const id = await tim.request();
    assert.equal((await galahad.claim()).length, 1);
    const artifacts = [{ name: 'a.txt', type: 'text/plain', content: LARGE }];
    assertRefused(await mallory.send({ id, status: 'completed', result: { LARGE } }), 404, 'task_not_found');
    assertRefused(await mallory.send({ id, status: 'completed', result: {}, artifacts }), 404, 'task_not_found');
    assertRefused(await galahad.complete(randomUUID(), RESULT), 404, 'task_not_found');
    assert.equal((await galahad.complete(id)).status, 202);
    assertRefused(await galahad.complete(id, RESULT), 409, 'task_ended');
    assert.deepEqual([...put], []);
  });

  it('is stored once for a result that is said twice', async (t) => {
    const { agent, put, left } = await watched(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    const result = about('task.result', 'galahad', id, { status: 'completed', result: RESULT });
    assert.deepEqual([(await galahad.send(result)).status, (await galahad.send(result)).status], [202, 200]);
    assert.deepEqual([put.size, left.size], [1, 1]);
    assert.equal((await tim.task(id)).result.content, LARGE);
  });

  it('is not stored for a request whose id is taken, or that is said twice', async (t) => {
    const { agent, put } = await watched(t);
    const tim = await agent('tim');
    const request = taskRequest('tim', { payload: { params: { LARGE } } });
    assert.deepEqual([(await tim.send(request)).status, (await tim.send(request)).status], [202, 200]);
    assertRefused(await tim.send({ ...request, timestamp: '2026-02-08T16:00:00Z' }), 409, 'id_reused');
    assert.equal(put.size, 1);
  });

  it('does not stay where what it was for ends while it is being stored', async (t) => {
    const { agent, put, left, hooks } = await watched(t);
    const [orchestrator, worker] = [await agent('orchestrator', taskFormat), await agent('worker', taskFormat)];
    await agent('reader');
    const whole = tfRequest({ routing: { target: 'worker' } });
    await orchestrator.send(whole);
    assert.equal((await worker.claim()).length, 1);
    hooks.afterPut = () => orchestrator.call('POST', `/v1/tasks/${whole.id}/cancel`);
    const part = tfRequest({ routing: { target: 'reader' }, payload: { LARGE }, context: { parentTaskId: whole.id } });
    assertRefused(await worker.send(part), 409, 'cancelled');
    assert.deepEqual([put.size, left.size], [1, 0]);
  });

  it('does not stay where a result comes while its task is cancelled', async (t) => {
    const { agent, put, left, hooks } = await watched(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    hooks.afterPut = () => tim.call('POST', `/v1/tasks/${id}/cancel`);
    assertRefused(await galahad.complete(id, RESULT), 409, 'cancelled');
    assert.deepEqual([put.size, left.size], [1, 0]);
  });
});
