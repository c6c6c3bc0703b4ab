import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { restoreChanges, toUndoChange } from '../../shared/engines/embedded/undo-change.ts';
import { applyChange, type Change } from '../../shared/ports/conditions.ts';
import type { Item, RecordChange } from '../../shared/ports/records.ts';

const field = fc.constantFrom('a', 'b', 'c');
const value = fc.oneof(fc.nat(3), fc.constant({ deep: [1] }), fc.constant('text'));
/** A write of some fields, the removal of some, or of the whole record. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ set: fc.dictionary(field, value), unset: fc.array(field, { maxLength: 2 }) }) },
  { weight: 1, arbitrary: fc.constant('remove' as const) },
);

const keyOf = (record: number) => ({ pk: `default#task#${record}`, sk: 'task' });

describe('changes that are kept as their undoing', () => {
  it('are the same again after a crash, whatever was done to the records', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), step), { maxLength: 25 }), (steps) => {
        const records = new Map<number, Item>();
        const changes: RecordChange[] = [];
        for (const [record, what] of steps) {
          const before = records.get(record);
          const after = what === 'remove' ? undefined : written(keyOf(record), before, what);
          if (before || after) changes.push({ before, after });
          if (after) records.set(record, after);
          else records.delete(record);
        }
        const kept = JSON.parse(JSON.stringify(changes.map(toUndoChange)));
        const current = ({ pk }: { pk: string }) => [...records.values()].find((item) => item.pk === pk);
        assert.deepEqual(restoreChanges(kept, current).map(sides), changes.map(sides));
      }),
      { numRuns: 1000 },
    );
  });

  it('hold only what has changed', () => {
    const before = { ...keyOf(1), v: 1, token: 'x', at: 1, large: 'x'.repeat(1000), status: 'requested' };
    const after = { ...before, v: 2, status: 'claimed', holder: 'galahad' };
    assert.deepEqual(toUndoChange({ before, after }), {
      ...keyOf(1),
      previousValues: { v: 1, status: 'requested' },
      addedFields: ['holder'],
    });
  });
});

const written = (key: { pk: string; sk: string }, before: Item | undefined, change: Change): Item =>
  ({ ...applyChange(before ?? key, change), v: (before?.v ?? 0) + 1, token: 't', at: 1 }) as unknown as Item;

/** Both sides as JSON tells them: without what is undefined. */
const sides = (change: RecordChange) => JSON.parse(JSON.stringify([change.before ?? null, change.after ?? null]));
