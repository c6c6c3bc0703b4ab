import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { CHANGE_FEED_KINDS, defineRecord, RECORDS } from '../../shared/effects/record-definitions.ts';
import { computeEffects } from '../../shared/effects/record-handlers.ts';
import { ItemCodec } from '../../shared/engines/aws/item-codec.ts';
import { MIGRATION_STEPS } from '../../shared/engines/embedded/sql-schema.ts';
import type { Item } from '../../shared/ports/records.ts';

/** Whatever is written as the sort key of a record: `sk: 'task'`, `sk: 'history#…'`. */
const SORT_KEY = /\bsk: ['`]([a-z_-]+|#[a-z]+)/g;

interface Sample extends Item {
  name: string;
  parts: string[];
}

describe('the definitions of records', () => {
  it('have every kind of record that the core writes', () => {
    const files = globSync('shared/**/*.ts').filter((file) => !file.startsWith('shared/engines/'));
    const written = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(SORT_KEY)].map(([, kind]) => kind));
    assert.ok(written.length > 50);
    const undefinedKinds = new Set(written.filter((kind) => kind !== undefined && !Object.hasOwn(RECORDS, kind)));
    assert.deepEqual([...undefinedKinds], []);
  });

  it('have handlers for every kind that the stream lets through, and for no other', () => {
    for (const sk of Object.keys(RECORDS)) {
      const compute = () => computeEffects({ before: { pk: 'p#x#1', sk, v: 1, token: 't', at: 0 } });
      if (!CHANGE_FEED_KINDS.includes(sk)) assert.throws(compute, /nothing is known/);
      else assert.doesNotThrow(() => ignoreMissingFields(compute));
    }
  });

  it('do not compile while a structured field is in no list', () => {
    defineRecord<Sample>()({ plain: ['parts'] });
    // @ts-expect-error: `parts` may be of any size, and nothing says how it is stored.
    defineRecord<Sample>()({ immutable: ['name'] });
  });

  it('have a migration for exactly the kinds that the steps of the storage format name', () => {
    const named = new Set(MIGRATION_STEPS.flatMap(({ kinds = [] }) => kinds));
    const migrated = Object.entries(RECORDS).flatMap(([kind, { migration }]) => (migration ? kind : []));
    assert.deepEqual([...named].toSorted(), migrated.toSorted());
  });

  it('store each field once, and give back what was stored', () => {
    const codec = new ItemCodec(RECORDS);
    for (const [sk, { immutable, compressed }] of Object.entries(RECORDS)) {
      const fields = [...immutable, ...compressed];
      assert.equal(new Set(fields).size, fields.length, sk);
      const values = Object.fromEntries(fields.map((field) => [field, { [field]: 'x'.repeat(100) }]));
      const record = { pk: `p#${sk}#1`, sk, v: 1, token: 't', at: 0, ...values };
      assert.deepEqual(codec.decode(codec.encode(record)), record);
    }
  });
});

/** A record without fields is none that a handler ever meets: only that there is a handler counts. */
const ignoreMissingFields = (compute: () => unknown): void => {
  try {
    compute();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
};
