import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('task cycle', () => {
  it('delivers the result of a requested and claimed task to the inbox of its requester', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    const [claimed] = await worker.claim();
    assert.equal(claimed.message.id, id);
    assert.equal((await worker.complete(id)).status, 202);
    assert.equal((await requester.task(id)).status, 'completed');
    const [message] = await eventually(async () => {
      const messages = await requester.inbox();
      assert.equal(messages.length, 1);
      return messages;
    });
    assert.equal(message.correlationId, id);
  });
});
