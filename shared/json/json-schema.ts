import * as z from 'zod';

/**
 * The shape that a JSON Schema says. Throws where it cannot be read, or would take too long to check. Imported when it is first
 * needed, because it takes all of zod.
 */
export const shapeOf = (schema: object): z.ZodType => {
  const readable = withoutPatterns(schema);
  partsOf(readable);
  return z.fromJSONSchema(readable);
};

/** How often a value and a part of the schema may have to be held against each other. */
export const checksFor = (schema: object, value: unknown): number => partsOf(schema) * valuesIn(value);

/** A regular expression of a stranger may take forever; what it says is carried, not checked. */
const withoutPatterns = (schema: object): Record<string, unknown> =>
  JSON.parse(JSON.stringify(schema, (key, value) => (/^pattern(Properties)?$/.test(key) ? undefined : value)));

const MOST_PARTS = 500;

/** What is referred to counts each time: a few lines that refer to each other twice are a million checks. */
const partsOf = (schema: object): number => {
  let parts = 0;
  const look = (part: unknown, within: readonly string[]): void => {
    if (typeof part !== 'object' || part === null) return;
    if (++parts > MOST_PARTS) throw new Error(`it has more than ${MOST_PARTS} parts, with all that they refer to`);
    for (const child of Object.values(part)) look(child, within);
    const ref = '$ref' in part && typeof part.$ref === 'string' ? part.$ref : undefined;
    if (ref === undefined) return;
    if (within.includes(ref)) throw new Error(`${ref} refers to itself`);
    look(partAt(schema, ref), [...within, ref]);
  };
  look(schema, []);
  return parts;
};

/** What stands at `#/$defs/name`. */
const partAt = (schema: unknown, ref: string): unknown =>
  ref
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((at, step) => (isOwnIn(at, step) ? Reflect.get(at, step) : undefined), schema);

const isOwnIn = (value: unknown, name: string): value is object =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name);

const valuesIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + valuesIn(one), 1)
    : 1;
