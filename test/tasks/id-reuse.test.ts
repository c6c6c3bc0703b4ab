import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const WEEK_MS = 7 * 86_400_000;

describe('reuse of task ids', () => {
  it('creates a new task without the content and history of the removed task whose id it reuses', async (t) => {
    const { agent, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const request = taskRequest('requester', { payload: { params: { text: 'x'.repeat(20_000) } } });
    await requester.send(request);
    await worker.claim();
    await worker.progress(request.id, { percent: 7 });
    await worker.complete(request.id);
    await eventually(async () => assert.equal((await requester.inbox()).length, 1));

    clock.advance(WEEK_MS);
    assert.equal((await requester.send(request)).status, 202);
    const [claimed] = await worker.claim();
    assert.equal(claimed?.message.payload.params.text.length, 20_000);
    await worker.progress(request.id, { percent: 8 });
    await eventually(async () => {
      const { history, payload } = await requester.task(request.id);
      assert.equal(payload.text.length, 20_000);
      const events = history.map(({ event, percent }: { event: string; percent?: number }) => [event, percent]);
      assert.deepEqual(events, [
        ['requested', undefined],
        ['claimed', undefined],
        ['progress', 8],
      ]);
    });
  });
});

describe('claim', () => {
  it('finds a waiting task behind 300 expired tasks in the queue', async (t) => {
    const { agent, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const batch = () => ({ messages: Array.from({ length: 25 }, () => taskRequest('requester', { ttl: 1 })) });
    for (let n = 0; n < 12; n++) await requester.call('POST', '/v1/messages', batch());
    clock.advance(1000);
    const id = await requester.request();
    assert.equal((await worker.claim())[0]?.message.id, id);
  });
});
