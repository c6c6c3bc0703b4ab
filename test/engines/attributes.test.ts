import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Shelf } from '../../shared/engines/aws/attributes.ts';

const RECORD = { pk: 'default#task#1', sk: 'task', v: 1, token: 'x', at: 1, from: 'asker', input: 'x'.repeat(100) };
const EARLIER = ['id', 'from', 'parent', 'input'];
const LATER = Array.from({ length: 50 }, (_, n) => `later${n}`);

const shelfFor = (fixed: string[]) => new Shelf({ fixed, bulky: [] });

describe('fields that are stored without their names', () => {
  it('cost nothing where a record has none of those that came last', () => {
    assert.deepEqual(shelfFor([...EARLIER, ...LATER]).stored(RECORD), shelfFor(EARLIER).stored(RECORD));
  });

  it('are read as they were written, also where the list has grown since', () => {
    for (const record of [RECORD, { ...RECORD, parent: 'another' }]) {
      const item = shelfFor(EARLIER).stored(record);
      assert.deepEqual(shelfFor([...EARLIER, ...LATER]).record(item), record);
    }
    const late = { ...RECORD, later49: 'y'.repeat(100) };
    const shelf = shelfFor([...EARLIER, ...LATER]);
    assert.deepEqual(shelf.record(shelf.stored(late)), late);
  });
});
