import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RecentMap } from '../../shared/kernel/recent-map.ts';

const MAX = 6;

describe('RecentMap', () => {
  it('holds the newest half of its maximum at least, never more than its maximum, and what a Map would hold of it', () => {
    const key = fc.integer({ min: 0, max: 12 });
    const step = fc.oneof(fc.record({ key, value: fc.integer() }), fc.record({ key, value: fc.constant(undefined) }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const recent = new RecentMap<number, number>(MAX);
        const expected = new Map<number, number>();
        for (const { key, value } of steps) {
          expected.delete(key);
          if (value === undefined) recent.delete(key);
          else {
            recent.set(key, value);
            expected.set(key, value);
          }
          const held = [...expected.keys()].filter((known) => recent.has(known));
          assert.ok(held.length <= MAX);
          for (const known of held) assert.equal(recent.get(known), expected.get(known));
          for (const newest of [...expected.keys()].slice(-MAX / 2)) assert.ok(recent.has(newest));
          for (let absent = 0; absent <= 12; absent++)
            if (!expected.has(absent)) assert.equal(recent.get(absent), undefined);
        }
      }),
    );
  });
});
