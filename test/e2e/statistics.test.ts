import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { agent, admin } = await deployment();

describe('GET /v1/stats', () => {
  it('counts tasks by capability and by pair, with how long they took', async () => {
    const capability = `security.c${Date.now()}`;
    const [tim, galahad] = [await agent('tim'), await agent('galahad', { capabilities: [capability] })];
    for (let n = 0; n < 3; n++) await tim.request({ payload: { task: capability } });
    const tasks = [];
    while (tasks.length < 3) tasks.push(...(await galahad.claim({ wait: 20, max: 3 })));
    const [first, second] = tasks.map(({ message }) => message.id);
    await galahad.complete(first);
    await galahad.fail(second, { error: 'invalid_params', message: 'no' });
    await eventually(async () => {
      const { status, body } = await admin.call('GET', '/v1/stats?window=10m&by=capability,pair&limit=100');
      assert.equal(status, 200, JSON.stringify(body));
      const own = body.capabilities.find((one: { capability?: string }) => one.capability === capability);
      // Beside many other tests, what is rare may be beyond the page.
      if (own) {
        const { submitted, claimed, completed, failed, failedByCode } = own;
        assert.deepEqual([submitted, claimed, completed, failed, failedByCode], [3, 3, 1, 1, { invalid_params: 1 }]);
        assert.deepEqual([own.timeToClaim.count, own.timeToEnd.count], [3, 2]);
      } else assert.ok(body.capabilities.length >= 100, capability);
      const pair = body.pairs.find((one: { holder?: string }) => one.holder === galahad.id);
      if (pair) assert.deepEqual([pair.requester, pair.claimed], [tim.id, 3]);
      else assert.ok(body.pairs.length >= 100, galahad.id);
      assert.ok(body.total.submitted >= 3);
    }, 30_000);
    const { body } = await admin.call('GET', `/v1/queues?capability=${capability}`);
    assert.deepEqual(body.queues[0].recent, { arrivals: 3, claims: 3 });
  });
});
