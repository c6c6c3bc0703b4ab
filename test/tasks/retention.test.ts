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
  it('removes a finished task, its large content and its outcome after seven days, and its id is then free', async (t) => {
    const { agent, clock, dir } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim', { payload: { params: { text: 'x'.repeat(20_000) } } });
    await tim.send(request);
    await galahad.claim();
    await galahad.complete(request.id, { content: 'y'.repeat(20_000) });
    await eventually(async () => assert.equal((await tim.inbox()).length, 1));
    const blobs = () =>
      readdirSync(join(dir, 'blobs'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
    assert.equal(blobs().length, 2);

    clock.advance(7 * DAY_MS - 1000);
    assert.equal((await tim.task(request.id)).status, 'completed');
    clock.advance(62_000);
    assert.equal((await tim.call('GET', `/v1/tasks/${request.id}`)).status, 404);
    assert.deepEqual(await tim.inbox(), []);
    await eventually(() => assert.deepEqual(blobs(), []));
    assert.equal((await tim.send(request)).status, 202);
  });

  it('never removes a task that is still open', async (t) => {
    const { agent, clock } = await testParley(t, { config: { tasks: { ...config.tasks, leaseMs: 2 * DAY_MS } } });
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    for (let day = 0; day < 20; day++) {
      clock.advance(DAY_MS);
      assert.equal((await galahad.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
    }
    assert.equal((await tim.task(id)).state, 'claimed');
  });

  it('removes events after thirty days, the old ones only', async (t) => {
    const { agent, clock, admin } = await testParley(t);
    const tim = await agent('tim');
    const types = async () =>
      (await admin.call('GET', '/v1/events')).body.events.map(({ type }: { type: string }) => type);
    const id = await tim.request({ ttl: 604_800 });
    await eventually(async () => assert.deepEqual(await types(), ['task.requested']));
    clock.advance(5 * DAY_MS);
    await tim.call('POST', `/v1/tasks/${id}/cancel`);
    await eventually(async () => assert.deepEqual(await types(), ['task.requested', 'task.cancelled']));
    clock.advance(25 * DAY_MS + 61_000);
    await eventually(async () => assert.deepEqual(await types(), ['task.cancelled']));
  });
});
