import type { Item, Key, RecordChange } from '../../ports/records.ts';

/** A tenth of the bytes of both sides; the current record or its next change has the other side. */
interface UndoChange extends Key {
  removed?: Item;
  /** Absent if the record is new or deleted. */
  previousValues?: Record<string, unknown>;
  addedFields?: string[];
}

/** Unchanged fields are the identical value on both sides, so `!==` suffices. */
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

export const restoreChanges = (changes: UndoChange[], current: (key: Key) => Item | undefined): RecordChange[] => {
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
