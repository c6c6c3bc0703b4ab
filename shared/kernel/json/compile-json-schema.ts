import { checkSchema } from './check-schema.ts';
import { toCanonicalJson } from './fingerprint.ts';
import { isObject } from './json.ts';

/** References are resolved, so subschemas form a graph. */
export interface Subschema {
  schema: Readonly<Record<string, unknown>> | boolean;
  ref?: Subschema | undefined;
  allOf?: Subschema[] | undefined;
  anyOf?: Subschema[] | undefined;
  oneOf?: Subschema[] | undefined;
  not?: Subschema | undefined;
  if?: Subschema | undefined;
  then?: Subschema | undefined;
  else?: Subschema | undefined;
  dependentSchemas?: Map<string, Subschema> | undefined;
  properties?: Map<string, Subschema> | undefined;
  additionalProperties?: Subschema | undefined;
  propertyNames?: Subschema | undefined;
  prefixItems?: Subschema[] | undefined;
  items?: Subschema | undefined;
  contains?: Subschema | undefined;
  /** `enum` and `const` as canonical JSON. */
  choices?: { all: Set<string>; text: string } | undefined;
}

const UNSUPPORTED = ['unevaluatedProperties', 'unevaluatedItems', '$dynamicRef', '$recursiveRef', 'additionalItems'];

/**
 * References may point to `#` and `#/$defs/name`, also in cycles, if each cycle descends into the value. Throws
 * otherwise.
 */
export const compileJsonSchema = (root: object): Subschema => {
  const [issue] = checkSchema(root);
  if (issue) throw new Error(`${issue.path || 'it'} ${issue.message}`);
  const parts = new Map<unknown, Subschema>();
  const refs: [from: Subschema, ref: string][] = [];
  const compileSubschema = (schema: unknown): Subschema => {
    const part: Subschema = { schema: isObject(schema) ? schema : schema === true };
    // `true` and `false` need separate entries.
    parts.set(isObject(schema) ? schema : part, part);
    if (!isObject(schema)) return part;
    const unsupported = UNSUPPORTED.find((keyword) => schema[keyword] !== undefined);
    if (unsupported) throw new Error(`${unsupported} is not supported`);
    const compileOne = (keyword: string) =>
      schema[keyword] === undefined ? undefined : compileSubschema(schema[keyword]);
    const compileList = (keyword: string) => {
      const children = schema[keyword];
      return Array.isArray(children) ? children.map(compileSubschema) : undefined;
    };
    const compileNamed = (keyword: string) => {
      const children = schema[keyword];
      return isObject(children)
        ? new Map(Object.entries(children).map(([name, child]) => [name, compileSubschema(child)]))
        : undefined;
    };
    compileNamed('$defs');
    compileNamed('definitions');
    for (const keyword of ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const) part[keyword] = compileList(keyword);
    for (const keyword of ['not', 'if', 'then', 'else', 'propertyNames', 'items', 'contains'] as const) {
      part[keyword] = compileOne(keyword);
    }
    for (const keyword of ['properties', 'dependentSchemas'] as const) part[keyword] = compileNamed(keyword);
    // Patterns are not evaluated, so additional properties are unknown.
    if (schema.patternProperties === undefined) part.additionalProperties = compileOne('additionalProperties');
    part.choices = buildChoices(schema);
    if (typeof schema.$ref === 'string') refs.push([part, schema.$ref]);
    return part;
  };
  const whole = compileSubschema(root);
  for (const [from, ref] of refs) from.ref = resolveRef(root, ref, parts);
  assertNoRefCycles([...parts.values()]);
  return whole;
};

const buildChoices = (schema: Record<string, unknown>): Subschema['choices'] => {
  const some = Array.isArray(schema.enum) ? schema.enum.map(toCanonicalJson) : undefined;
  const one = 'const' in schema ? toCanonicalJson(schema.const) : undefined;
  if (one === undefined) return some && { all: new Set(some), text: `must be one of ${some.slice(0, 20).join(', ')}` };
  return { all: new Set(some && !some.includes(one) ? [] : [one]), text: `must be ${one}` };
};

const DEFINITION_REF = /^#\/(\$defs|definitions)\/([^/]+)$/;

/** No other pointers: readers resolve them differently. */
const resolveRef = (root: object, ref: string, parts: ReadonlyMap<unknown, Subschema>): Subschema => {
  const [, place = '', name = ''] = DEFINITION_REF.exec(ref) ?? [];
  const defined: unknown = place === '' ? undefined : Reflect.get(root, place);
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
  const target = ref === '#' ? root : isObject(defined) && Object.hasOwn(defined, key) ? defined[key] : undefined;
  const part = parts.get(target);
  if (part) return part;
  if (typeof target === 'boolean') return { schema: target };
  throw new Error(`${ref.slice(0, 64)} refers to nothing: it must be # or #/$defs/ and a name that is defined there`);
};

const listInPlaceSubschemas = (part: Subschema): Subschema[] =>
  [
    part.ref,
    part.not,
    part.if,
    part.then,
    part.else,
    ...(part.allOf ?? []),
    ...(part.anyOf ?? []),
    ...(part.oneOf ?? []),
    ...(part.dependentSchemas?.values() ?? []),
  ].filter((one) => one !== undefined);

const assertNoRefCycles = (parts: readonly Subschema[]): void => {
  const done = new Set<Subschema>();
  const within = new Set<Subschema>();
  const visit = (part: Subschema): void => {
    if (done.has(part)) return;
    if (within.has(part)) throw new Error('a $ref leads back to itself without going deeper into the value');
    within.add(part);
    for (const next of listInPlaceSubschemas(part)) visit(next);
    within.delete(part);
    done.add(part);
  };
  for (const part of parts) visit(part);
};
