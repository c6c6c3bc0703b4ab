import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { CONTENTS, requestOf } from '../../bench/aws/content.ts';
import { computeItemBytes } from '../../local/cloudformation-runner/index.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { type Attributes, ItemCodec } from '../../shared/engines/aws/item-codec.ts';

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

describe('the item of a task', () => {
  const { text } = CONTENTS;
  const written = (at: number) => {
    const { id, payload } = JSON.parse(requestOf('requester', text));
    const random = (bytes: number) => randomBytes(bytes).toString('hex');
    const claimed = {
      ...{ pk: `default#task#${id}`, sk: 'task', v: 2, token: random(8), at, project: 'default', id },
      ...{ dialect: 'round-table', status: 'claimed', priority: 'normal', from: 'requester', domain: 'security' },
      ...{ capability: 'security.briefing', createdAt: at, ttlSeconds: 3600, deadline: at + 3_600_000, queuedAt: at },
      ...{ queueGeneration: 1, requeueCount: 0, attempt: 1, maxAttempts: 3, extensions: {}, due: at + 300_000 },
      ...{ input: { json: payload.params }, fingerprint: random(11), traceparent: `00-${random(16)}-${random(8)}-01` },
      ...{ holder: 'worker', claimedAt: at, leaseUntil: at + 300_000, byList: { pk: 'default#inbox#requester' } },
      byHolder: { pk: 'default#holder#worker', sk: `0${at}#0123456789abcdef` },
    };
    return new ItemCodec(RECORDS).encode(claimed);
  };

  it('costs one write unit while it is claimed, with a request of 1 KB of words', () => {
    for (let n = 0; n < 20; n++) {
      const bytes = computeItemBytes(inJson(written(1_790_000_000_000 + n)));
      assert.ok(bytes <= 1024, `${bytes} bytes`);
    }
  });
});

/** Binary attributes as the wire has them. */
const inJson = (item: Attributes) =>
  mapValues(item, (value) => (value.B ? { B: Buffer.from(value.B).toString('base64') } : value));

const mapValues = <T, U>(object: Record<string, T>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

const omitEmptyMaps = (value: AttributeValue): AttributeValue => {
  if (value.L) return { L: value.L.map(omitEmptyMaps) };
  if (!value.M) return value;
  const isEmpty = Object.keys(value.M).length === 0;
  return isEmpty ? JSON.parse('{}') : { M: mapValues(value.M, omitEmptyMaps) };
};
