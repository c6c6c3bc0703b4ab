import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { offloadIfLarge } from '../../shared/cards/offload-content.ts';
import { testParley } from '../support/test-parley.ts';

const WAY = { project: 'default', from: 'tim', type: 'tool.result', fits: 100 } as const;

describe('content that may be too large for a message', () => {
  it('stays what it is up to the limit, counted in bytes', async (t) => {
    const { parley } = await testParley(t);
    for (const content of ['x'.repeat(98), 'ü'.repeat(49), null, { a: [1] }]) {
      assert.deepEqual(await offloadIfLarge(parley.deps, WAY, content), content);
    }
  });

  it('is a card above it, the same for the same content, which brings it back', async (t) => {
    const { parley, agent } = await testParley(t);
    const kay = await agent('kay');
    for (const content of ['ü'.repeat(50), { text: 'x'.repeat(20_000) }]) {
      const reference = Object(await offloadIfLarge(parley.deps, WAY, content));
      assert.deepEqual(await offloadIfLarge(parley.deps, WAY, content), reference);
      assert.equal(reference.bytes, Buffer.byteLength(JSON.stringify(content)));
      const { body } = await kay.call('GET', reference.uri);
      assert.deepEqual([body.card_id, body.type, body.content], [reference.card_id, 'tool.result', content]);
    }
  });
});
