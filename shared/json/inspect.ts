/** Deeper than any message in the protocols, and far from the depth at which JSON.stringify overflows the stack. */
const MAX_DEPTH = 64;

/** More than any message has; what checks each field of an object would hold up everybody else meanwhile. */
const MAX_FIELDS = 10_000;

export interface Flaw {
  path: (string | number)[];
  message: string;
}

/**
 * Finds what is legal JSON and still harmful: nesting that overflows the stack of whoever serialises it again, objects whose
 * fields take seconds to check, keys that pollute prototypes in careless readers, and what no store gives back unchanged: lone surrogates, and integers beyond 2^53.
 */
export const inspect = (value: unknown, depth = 0): Flaw | undefined => {
  if (typeof value === 'string') {
    return value.isWellFormed()
      ? undefined
      : { path: [], message: 'contains a lone surrogate, which is not Unicode text' };
  }
  if (typeof value === 'number') {
    return isExact(value) ? undefined : { path: [], message: 'is a number that JSON readers change; send it as text' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === MAX_DEPTH) return { path: [], message: `is nested deeper than ${MAX_DEPTH} levels` };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const flaw = inspect(value[index], depth + 1);
      if (flaw) return below(index, flaw);
    }
    return undefined;
  }
  const fields = Object.entries(value);
  if (fields.length > MAX_FIELDS) return { path: [], message: `has more than ${MAX_FIELDS} fields` };
  for (const [key, member] of fields) {
    if (key === '__proto__') return { path: [key], message: 'is a forbidden key' };
    if (!key.isWellFormed()) return { path: [], message: 'has a key with a lone surrogate' };
    const flaw = inspect(member, depth + 1);
    if (flaw) return below(key, flaw);
  }
  return undefined;
};

/** JSON writes integers below 10^21 with all their digits, of which a reader keeps the first sixteen. */
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value) || Math.abs(value) >= 1e21);

const below = (step: string | number, flaw: Flaw): Flaw => ({ ...flaw, path: [step, ...flaw.path] });
