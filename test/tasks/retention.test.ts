import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const DAY_MS = 86_400_000;

describe('retention', () => {
  it('removes an ended task, its blobs and its outcome after seven days and frees its id', async (t) => {
    const { agent, clock, dir } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const request = taskRequest('requester', { payload: { params: { text: 'x'.repeat(20_000) } } });
    await requester.send(request);
    await worker.claim();
    await worker.complete(request.id, { content: 'y'.repeat(20_000) });
    await eventually(async () => assert.equal((await requester.inbox()).length, 1));
    const blobs = () =>
      readdirSync(join(dir, 'blobs'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
    assert.equal(blobs().length, 2);

    clock.advance(7 * DAY_MS - 1000);
    assert.equal((await requester.task(request.id)).status, 'completed');
    clock.advance(62_000);
    assert.equal((await requester.call('GET', `/v1/tasks/${request.id}`)).status, 404);
    assert.deepEqual(await requester.inbox(), []);
    await eventually(() => assert.deepEqual(blobs(), []));
    assert.equal((await requester.send(request)).status, 202);
  });

  it('never removes a task that has not ended', async (t) => {
    const { agent, clock } = await testParley(t, { config: { tasks: { ...config.tasks, leaseMs: 2 * DAY_MS } } });
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    await worker.claim();
    for (let day = 0; day < 20; day++) {
      clock.advance(DAY_MS);
      assert.equal((await worker.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
    }
    assert.equal((await requester.task(id)).state, 'claimed');
  });

  it('removes events after thirty days and keeps newer ones', async (t) => {
    const { agent, clock, admin } = await testParley(t);
    const requester = await agent('requester');
    const types = async () =>
      (await admin.call('GET', '/v1/events')).body.events.map(({ type }: { type: string }) => type);
    const id = await requester.request({ ttl: 604_800 });
    await eventually(async () => assert.deepEqual(await types(), ['task.requested']));
    clock.advance(5 * DAY_MS);
    await requester.call('POST', `/v1/tasks/${id}/cancel`);
    await eventually(async () => assert.deepEqual(await types(), ['task.requested', 'task.cancelled']));
    clock.advance(25 * DAY_MS + 61_000);
    await eventually(async () => assert.deepEqual(await types(), ['task.cancelled']));
  });
});
