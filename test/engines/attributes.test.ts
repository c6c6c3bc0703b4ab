import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ItemCodec } from '../../shared/engines/aws/item-codec.ts';

const RECORD = { pk: 'default#task#1', sk: 'task', v: 1, token: 'x', at: 1, from: 'asker', input: 'x'.repeat(100) };
const EARLIER = ['id', 'from', 'parent', 'input'];
const LATER = Array.from({ length: 50 }, (_, n) => `later${n}`);

const shelfFor = (fixed: string[]) => new ItemCodec({ task: { immutable: fixed, compressed: [] } });

describe('fields that are stored without their names', () => {
  it('cost nothing where a record has none of those that came last', () => {
    assert.deepEqual(shelfFor([...EARLIER, ...LATER]).encode(RECORD), shelfFor(EARLIER).encode(RECORD));
  });

  it('are read as they were written, also where the list has grown since', () => {
    for (const record of [RECORD, { ...RECORD, parent: 'another' }]) {
      const item = shelfFor(EARLIER).encode(record);
      assert.deepEqual(shelfFor([...EARLIER, ...LATER]).decode(item), record);
    }
    const late = { ...RECORD, later49: 'y'.repeat(100) };
    const shelf = shelfFor([...EARLIER, ...LATER]);
    assert.deepEqual(shelf.decode(shelf.encode(late)), late);
  });
});
