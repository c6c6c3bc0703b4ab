import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { agent, admin } = await deployment();

describe('queues', () => {
  it('show what waits for an agent and a capability, since when, and what is in flight', async () => {
    const capability = `security.s${Date.now()}`;
    const [tim, galahad] = [await agent('tim'), await agent('galahad', { capabilities: [capability] })];
    for (const request of [{ to: galahad.id }, { to: galahad.id, priority: 'high' }, { payload: { task: capability } }])
      await tim.request(request);
    const read = async (query: string) => (await admin.call('GET', `/v1/queues?${query}`)).body.queues[0];
    await eventually(async () => {
      assert.deepEqual((await read(`agent=${galahad.id}`)).waiting, { value: 2, isExact: true });
      assert.deepEqual((await read(`capability=${capability}`)).waiting, { value: 1, isExact: true });
    }, 30_000);
    const [{ message }] = await galahad.claim({ wait: 20 });
    await eventually(async () => {
      const queue = await read(`agent=${galahad.id}`);
      assert.deepEqual([queue.waiting.value, queue.inFlight.value], [1, 1]);
      assert.ok(queue.oldestWaitingSince);
      assert.deepEqual(
        queue.priorities.map(({ waiting }: { waiting: { value: number } }) => waiting.value),
        message.priority === 'high' ? [0, 0, 1, 0] : [0, 1, 0, 0],
      );
    }, 30_000);
  });

  it('of a domain are estimates where they are in SQS', async () => {
    const { body } = await admin.call('GET', '/v1/queues?domain=security');
    assert.ok(body.queues.some(({ id }: { id: string }) => id === 'domain:security'));
  });
});
