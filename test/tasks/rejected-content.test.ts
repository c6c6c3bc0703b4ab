import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const LARGE = 'x'.repeat(20_000);
const RESULT = { format: 'markdown', content: LARGE };

/** Records which blobs were put and which remain; `hooks.afterPut` runs after each put. */
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

describe('large content of rejected messages', () => {
  it('stores no blob for a result on a task that another agent holds, that has ended, or that does not exist', async (t) => {
    const { agent, put } = await watched(t);
    const [requester, worker, intruder] = [
      await agent('requester'),
      await agent('worker'),
      await agent('intruder', taskFormat),
    ];
    const id = await requester.request();
    assert.equal((await worker.claim()).length, 1);
    const artifacts = [{ name: 'a.txt', type: 'text/plain', content: LARGE }];
    assertRefused(await intruder.send({ id, status: 'completed', result: { LARGE } }), 404, 'task_not_found');
    assertRefused(await intruder.send({ id, status: 'completed', result: {}, artifacts }), 404, 'task_not_found');
    assertRefused(await worker.complete(randomUUID(), RESULT), 404, 'task_not_found');
    assert.equal((await worker.complete(id)).status, 202);
    assertRefused(await worker.complete(id, RESULT), 409, 'task_ended');
    assert.deepEqual([...put], []);
  });

  it('stores the blob of a repeated result once', async (t) => {
    const { agent, put, left } = await watched(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    await worker.claim();
    const result = about('task.result', 'worker', id, { status: 'completed', result: RESULT });
    assert.deepEqual([(await worker.send(result)).status, (await worker.send(result)).status], [202, 200]);
    assert.deepEqual([put.size, left.size], [1, 1]);
    assert.equal((await requester.task(id)).result.content, LARGE);
  });

  it('stores no blob for a request that is repeated or that reuses an id', async (t) => {
    const { agent, put } = await watched(t);
    const requester = await agent('requester');
    const request = taskRequest('requester', { payload: { params: { LARGE } } });
    assert.deepEqual([(await requester.send(request)).status, (await requester.send(request)).status], [202, 200]);
    assertRefused(await requester.send({ ...request, ttl: 7 }), 409, 'id_reused');
    assert.equal(put.size, 1);
  });

  it('deletes the blob of a subtask whose parent is cancelled while the blob is stored', async (t) => {
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

  it('deletes the blob of a result whose task is cancelled while the blob is stored', async (t) => {
    const { agent, put, left, hooks } = await watched(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    await worker.claim();
    hooks.afterPut = () => requester.call('POST', `/v1/tasks/${id}/cancel`);
    assertRefused(await worker.complete(id, RESULT), 409, 'cancelled');
    assert.deepEqual([put.size, left.size], [1, 0]);
  });
});
