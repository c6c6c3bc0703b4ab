import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('task release', () => {
  for (const way of ['release', 'task.failed'] as const) {
    it(`requeues a task that its holder returns by ${way} at once and spends no attempt`, async (t) => {
      const { agent } = await testParley(t);
      const [requester, worker] = [await agent('requester', { capabilities: [] }), await agent('worker')];
      const id = await requester.request();
      for (let times = 0; times < 5; times++) {
        assert.equal((await worker.claim())[0].message.id, id);
        if (way === 'release')
          assert.equal((await worker.call('POST', `/v1/tasks/${id}/release`)).body.state, 'requested');
        else assert.equal((await worker.fail(id, { error: 'rate_limited', release: true })).status, 202);
      }
      for (const state of ['requested', 'requested', 'failed']) {
        await eventually(async () => assert.equal((await worker.claim())[0]?.message.id, id));
        await worker.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 });
        assert.equal((await requester.task(id)).state, state);
      }
    });
  }

  it('rejects a release from anyone but the holder and an administrator', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker, otherWorker] = [
      await agent('requester', { capabilities: [] }),
      await agent('worker'),
      await agent('other-worker'),
    ];
    const id = await requester.request();
    const release = `/v1/tasks/${id}/release`;
    assertRefused(await worker.call('POST', release), 409, 'not_holder');
    await worker.claim();
    // An agent without access must not learn that the task exists.
    assertRefused(await otherWorker.call('POST', release), 404, 'task_not_found');
    assertRefused(await worker.call('POST', release, { attempt: 7 }), 409, 'stale_attempt');
    assert.equal((await admin.call('POST', release)).status, 200);
    assertRefused(await admin.call('POST', release), 409, 'not_holder');
    assertRefused(await worker.complete(id).then(() => worker.call('POST', release)), 409, 'task_ended');
  });

  it('spends an attempt on each release after the time to live of the task', async (t) => {
    const { agent, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester', { capabilities: [] }), await agent('worker')];
    const id = await requester.request({ ttl: 60 });
    for (const state of ['requested', 'requested', 'failed']) {
      await eventually(async () => assert.equal((await worker.claim())[0]?.message.id, id));
      clock.advance(61_000);
      await worker.call('POST', `/v1/tasks/${id}/release`);
      assert.equal((await requester.task(id)).state, state);
    }
  });
});
