import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('the life of a task', () => {
  it('goes from a request to a result that the requester finds in its inbox', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const [claimed] = await galahad.claim();
    assert.equal(claimed.message.id, id);
    assert.equal((await galahad.complete(id)).status, 202);
    assert.equal((await tim.task(id)).status, 'completed');
    const [message] = await eventually(async () => {
      const messages = await tim.inbox();
      assert.equal(messages.length, 1);
      return messages;
    });
    assert.equal(message.correlationId, id);
  });
});
