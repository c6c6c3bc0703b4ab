/**
 * One meaning as a DynamoDB expression and in memory. A field is a top-level name or one map level: `waiting.call-1`.
 */
export type Scalar = string | number | boolean;

export type Condition =
  | { all: Condition[] }
  | { any: Condition[] }
  | { field: string; is: Scalar }
  | { field: string; isNot: Scalar }
  | { field: string; below: number | string }
  | { field: string; above: number | string }
  | { field: string; oneOf: Scalar[] }
  | { field: string; present: boolean };

export interface Change {
  if?: Condition;
  /** A field with value undefined is left unchanged. */
  set?: Record<string, unknown>;
  unset?: string[];
  add?: Record<string, number>;
}

export const and = (...conditions: Condition[]): Condition => ({ all: conditions });
export const or = (...conditions: Condition[]): Condition => ({ any: conditions });
export const equals = (field: string, value: Scalar): Condition => ({ field, is: value });
export const notEquals = (field: string, value: Scalar): Condition => ({ field, isNot: value });
export const lessThan = (field: string, value: number | string): Condition => ({ field, below: value });
export const greaterThan = (field: string, value: number | string): Condition => ({ field, above: value });
export const equalsAny = (field: string, ...values: Scalar[]): Condition => ({ field, oneOf: values });
export const exists = (field: string): Condition => ({ field, present: true });
export const notExists = (field: string): Condition => ({ field, present: false });

/** As in DynamoDB, a comparison with an absent field is false, except `notEquals`, which is true. */
export const evaluateCondition = (condition: Condition, record: object): boolean => {
  if ('all' in condition) return condition.all.every((part) => evaluateCondition(part, record));
  if ('any' in condition) return condition.any.some((part) => evaluateCondition(part, record));
  const value = getField(record, condition.field);
  if ('present' in condition) return (value !== undefined) === condition.present;
  if ('is' in condition) return value === condition.is;
  if ('isNot' in condition) return value !== condition.isNot;
  if ('oneOf' in condition) return condition.oneOf.some((option) => option === value);
  const limit = 'below' in condition ? condition.below : condition.above;
  if (typeof value === 'number' && typeof limit === 'number') return isWithinLimit(condition, value, limit);
  if (typeof value === 'string' && typeof limit === 'string') return isWithinLimit(condition, value, limit);
  return false;
};

const isWithinLimit = <T extends number | string>(condition: Condition, value: T, limit: T): boolean =>
  'below' in condition ? value < limit : value > limit;

const getField = (record: object, path: string): unknown => {
  const dot = path.indexOf('.');
  if (dot < 0) return getOwnField(record, path);
  const map = getOwnField(record, path.slice(0, dot));
  return typeof map === 'object' && map !== null ? getOwnField(map, path.slice(dot + 1)) : undefined;
};

const getOwnField = (record: object, name: string): unknown =>
  Object.hasOwn(record, name) ? Reflect.get(record, name) : undefined;

export const applyChange = (record: object, change: Change): Record<string, unknown> => {
  const { set = {}, unset = [], add = {} } = change;
  const after = omitFields(record, unset);
  for (const path in set) if (set[path] !== undefined) setField(after, path, set[path]);
  for (const path in add) {
    const value = getField(after, path);
    setField(after, path, (typeof value === 'number' ? value : 0) + (add[path] ?? 0));
  }
  for (const path of unset) if (path.includes('.')) setField(after, path, undefined);
  return after;
};

/** Copies without the fields: V8 keeps objects slow after `delete`. */
const omitFields = (record: object, unset: string[]): Record<string, unknown> => {
  if (!unset.some((field) => Object.hasOwn(record, field))) return { ...record };
  const rest: Record<string, unknown> = {};
  for (const field in record) if (!unset.includes(field)) rest[field] = Reflect.get(record, field);
  return rest;
};

const setField = (record: Record<string, unknown>, path: string, value: unknown): void => {
  const dot = path.indexOf('.');
  if (dot < 0) {
    setOwnField(record, path, value);
    return;
  }
  const name = path.slice(0, dot);
  const map = getOwnField(record, name);
  const copy: Record<string, unknown> = { ...(typeof map === 'object' ? map : undefined) };
  setOwnField(copy, path.slice(dot + 1), value);
  if (map !== undefined || Object.keys(copy).length > 0) setOwnField(record, name, copy);
};

const setOwnField = (record: Record<string, unknown>, name: string, value: unknown): void => {
  if (value === undefined) delete record[name];
  // Assignment would set the prototype, and callers choose map keys.
  else if (name === '__proto__')
    Object.defineProperty(record, name, { value, configurable: true, enumerable: true, writable: true });
  else record[name] = value;
};

/** Applies the changes in order, under the condition of the first. */
export const mergeChanges = (...changes: Change[]): Change => {
  const set: Record<string, unknown> = {};
  const unset = new Set<string>();
  const add: Record<string, number> = {};
  for (const change of changes) {
    for (const field in change.set) {
      if (change.set[field] === undefined) continue;
      set[field] = change.set[field];
      unset.delete(field);
    }
    for (const field of change.unset ?? []) {
      delete set[field];
      unset.add(field);
    }
    for (const field in change.add) add[field] = (add[field] ?? 0) + (change.add[field] ?? 0);
  }
  return { set, unset: [...unset], add, if: changes[0]?.if };
};
