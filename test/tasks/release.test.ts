import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('a task that its holder gives back', () => {
  for (const way of ['release', 'task.failed'] as const) {
    it(`by ${way} is for the next at once, and no attempt is spent however often`, async (t) => {
      const { agent } = await testParley(t);
      const [tim, kay] = [await agent('tim', { capabilities: [] }), await agent('kay')];
      const id = await tim.request();
      for (let times = 0; times < 5; times++) {
        assert.equal((await kay.claim())[0].message.id, id);
        if (way === 'release')
          assert.equal((await kay.call('POST', `/v1/tasks/${id}/release`)).body.state, 'requested');
        else assert.equal((await kay.fail(id, { error: 'rate_limited', release: true })).status, 202);
      }
      for (const state of ['requested', 'requested', 'failed']) {
        await eventually(async () => assert.equal((await kay.claim())[0]?.message.id, id));
        await kay.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 });
        assert.equal((await tim.task(id)).state, state);
      }
    });
  }

  it('is refused to anybody else but an administrator', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, kay, bors] = [await agent('tim', { capabilities: [] }), await agent('kay'), await agent('bors')];
    const id = await tim.request();
    const release = `/v1/tasks/${id}/release`;
    assertRefused(await kay.call('POST', release), 409, 'not_holder');
    await kay.claim();
    // Who has no part in the task does not learn that it is there.
    assertRefused(await bors.call('POST', release), 404, 'task_not_found');
    assertRefused(await kay.call('POST', release, { attempt: 7 }), 409, 'stale_attempt');
    assert.equal((await admin.call('POST', release)).status, 200);
    assertRefused(await admin.call('POST', release), 409, 'not_holder');
    assertRefused(await kay.complete(id).then(() => kay.call('POST', release)), 409, 'task_ended');
  });

  it('spends an attempt once its time to live is over, so that no circle goes on for ever', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, kay] = [await agent('tim', { capabilities: [] }), await agent('kay')];
    const id = await tim.request({ ttl: 60 });
    for (const state of ['requested', 'requested', 'failed']) {
      await eventually(async () => assert.equal((await kay.claim())[0]?.message.id, id));
      clock.advance(61_000);
      await kay.call('POST', `/v1/tasks/${id}/release`);
      assert.equal((await tim.task(id)).state, state);
    }
  });
});
