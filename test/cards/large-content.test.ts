import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { offloadIfLarge } from '../../shared/cards/offload-content.ts';
import { testParley } from '../support/test-parley.ts';

const WAY = { project: 'default', from: 'writer', type: 'tool.result', fits: 100 } as const;

describe('content offloading', () => {
  it('keeps content inline up to the limit in bytes', async (t) => {
    const { parley } = await testParley(t);
    for (const content of ['x'.repeat(98), 'ü'.repeat(49), null, { a: [1] }]) {
      assert.deepEqual(await offloadIfLarge(parley.deps, WAY, content), content);
    }
  });

  it('stores content above the limit as a card, one card for the same content', async (t) => {
    const { parley, agent } = await testParley(t);
    const reader = await agent('reader');
    for (const content of ['ü'.repeat(50), { text: 'x'.repeat(20_000) }]) {
      const reference = Object(await offloadIfLarge(parley.deps, WAY, content));
      assert.deepEqual(await offloadIfLarge(parley.deps, WAY, content), reference);
      assert.equal(reference.bytes, Buffer.byteLength(JSON.stringify(content)));
      const { body } = await reader.call('GET', reference.uri);
      assert.deepEqual([body.card_id, body.type, body.content], [reference.card_id, 'tool.result', content]);
    }
  });
});
