import type { Item, Key, RecordChange } from '../../ports/records.ts';

/**
 * A change as it is kept until it is acknowledged: not both sides of it, only how to undo it. The record itself, or
 * the next change of the same record, tells what it led to. That is a tenth of the writing.
 */
export interface UndoChange extends Key {
  /** The record that is no longer there. */
  removed?: Item;
  /** What the changed fields were; absent where the record itself is new, or gone. */
  previousValues?: Record<string, unknown>;
  /** The fields that were not there before. */
  addedFields?: string[];
}

/** Fields that a change left alone are the same value on both sides, not only an equal one. */
export const toUndoChange = ({ before, after }: RecordChange): UndoChange => {
  const { pk, sk } = after ?? before ?? { pk: '', sk: '' };
  if (!before || !after) return { pk, sk, removed: before };
  const [old, now] = [toFields(before), toFields(after)];
  const was: Record<string, unknown> = {};
  const fresh: string[] = [];
  for (const field in old) if (old[field] !== now[field]) was[field] = old[field];
  for (const field in now) if (old[field] === undefined) fresh.push(field);
  return { pk, sk, previousValues: was, addedFields: fresh };
};

const toFields = (item: object): Record<string, unknown> => item as Record<string, unknown>;

/** The changes as they were, in their order, from the records as they are now. */
export const restoreChanges = (changes: UndoChange[], current: (key: Key) => Item | undefined): RecordChange[] => {
  /** What each record was before the changes that have been looked at, which are the later ones. */
  const earlier = new Map<string, Item | undefined>();
  const newestFirst = changes.toReversed().map((change) => {
    const key = `${change.pk}\u0000${change.sk}`;
    const after = earlier.has(key) ? earlier.get(key) : current(change);
    const before = undoChange(change, after);
    earlier.set(key, before);
    return { before, after: change.removed ? undefined : after };
  });
  return newestFirst.toReversed();
};

const undoChange = (
  { removed, previousValues, addedFields = [] }: UndoChange,
  after: Item | undefined,
): Item | undefined => {
  if (!previousValues || !after) return removed;
  const before = { ...after };
  for (const field of addedFields) Reflect.deleteProperty(before, field);
  return Object.assign(before, previousValues);
};
