import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testParley } from '../support/test-parley.ts';

describe('task visibility', () => {
  it('shows a waiting task to all providers of its domain, and a claimed one only to requester and holder', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker, otherWorker] = [
      await agent('requester'),
      await agent('worker'),
      await agent('other-worker'),
    ];
    const id = await requester.request();
    const seenBy = async (reader: typeof requester) => (await reader.call('GET', `/v1/tasks/${id}`)).status;
    assert.deepEqual([await seenBy(requester), await seenBy(worker), await seenBy(otherWorker)], [200, 200, 200]);
    const curious = otherWorker.call('GET', `/v1/tasks/${id}?wait=20`);
    await worker.claim();
    assert.deepEqual([await seenBy(requester), await seenBy(worker), await seenBy(otherWorker)], [200, 200, 404]);
    await worker.complete(id, { content: 'for requester alone' });
    assert.equal((await curious).status, 404);
  });
});
