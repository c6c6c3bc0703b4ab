import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
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

describe('an item of a stream', () => {
  it('is read although DynamoDB Local omits the type of an empty map, at whatever depth and under whatever key', () => {
    const record = { ...RECORD, open: {}, nodes: { M: {}, S: [{}], one: { M: { M: {} } } } };
    const shelf = shelfFor(EARLIER);
    const item = shelf.encode(record);
    const streamed = mapValues(item, omitEmptyMaps);
    assert.notDeepEqual(streamed, item);
    assert.deepEqual(shelf.decode(streamed), record);
  });
});

const mapValues = <T>(object: Record<string, T>, change: (value: T) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

const omitEmptyMaps = (value: AttributeValue): AttributeValue => {
  if (value.L) return { L: value.L.map(omitEmptyMaps) };
  if (!value.M) return value;
  const isEmpty = Object.keys(value.M).length === 0;
  return isEmpty ? JSON.parse('{}') : { M: mapValues(value.M, omitEmptyMaps) };
};
