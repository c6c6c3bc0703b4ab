import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testParley } from '../support/test-parley.ts';

describe('a task of a domain', () => {
  it('is seen by all who serve the domain while it waits, and then by those concerned alone', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad, percival] = [await agent('tim'), await agent('galahad'), await agent('percival')];
    const id = await tim.request();
    const seenBy = async (reader: typeof tim) => (await reader.call('GET', `/v1/tasks/${id}`)).status;
    assert.deepEqual([await seenBy(tim), await seenBy(galahad), await seenBy(percival)], [200, 200, 200]);
    const curious = percival.call('GET', `/v1/tasks/${id}?wait=20`);
    await galahad.claim();
    assert.deepEqual([await seenBy(tim), await seenBy(galahad), await seenBy(percival)], [200, 200, 404]);
    await galahad.complete(id, { content: 'for tim alone' });
    assert.equal((await curious).status, 404);
  });
});
