import { MAX_DEPTH, MAX_FIELDS } from './scan-json.ts';

interface UnsafeJson {
  path: (string | number)[];
  message: string;
}

/**
 * Rejects legal but harmful JSON: nesting that overflows the stack, objects with too many fields, prototype keys, lone
 * surrogates, integers beyond 2^53.
 */
export const findUnsafeJson = (value: unknown, depth = 0): UnsafeJson | undefined => {
  if (typeof value === 'string') {
    return value.isWellFormed()
      ? undefined
      : { path: [], message: 'contains a lone surrogate, which is not Unicode text' };
  }
  if (typeof value === 'number') {
    return isExactNumber(value)
      ? undefined
      : { path: [], message: 'is a number that JSON readers change; send it as text' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === MAX_DEPTH) return { path: [], message: `is nested deeper than ${MAX_DEPTH} levels` };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const flaw = findUnsafeJson(value[index], depth + 1);
      if (flaw) return prefixPath(index, flaw);
    }
    return undefined;
  }
  return findUnsafeField(value, depth);
};

const findUnsafeField = (value: object, depth: number): UnsafeJson | undefined => {
  const keys = Object.keys(value);
  if (keys.length > MAX_FIELDS) return { path: [], message: `has more than ${MAX_FIELDS} fields` };
  for (const key of keys) {
    if (key === '__proto__') return { path: [key], message: 'is a forbidden key' };
    if (!key.isWellFormed()) return { path: [], message: 'has a key with a lone surrogate' };
    const flaw = findUnsafeJson(Reflect.get(value, key), depth + 1);
    if (flaw) return prefixPath(key, flaw);
  }
  return undefined;
};

/** JSON writes integers below 10^21 with all digits; readers keep about sixteen. */
const isExactNumber = (value: number): boolean =>
  Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value) || Math.abs(value) >= 1e21);

const prefixPath = (step: string | number, flaw: UnsafeJson): UnsafeJson => ({ ...flaw, path: [step, ...flaw.path] });
