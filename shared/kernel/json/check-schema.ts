import * as z from 'zod';
import type { Issue } from '../errors.ts';
import { isObject, type JsonObject } from './json.ts';
import { formatPath, MAX_ISSUES } from './parse-or-throw.ts';

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];
const MAX_SUBSCHEMAS = 500;

type KeywordForm = 'schema' | 'schemas' | 'named' | ((value: unknown) => boolean);

const isString = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isStringArray = (value: unknown): boolean => Array.isArray(value) && value.every(isString);
const isWithinRange = (value: number, least: number, most: number): boolean => value >= least && value <= most;
const isTypeName = (value: unknown): boolean => isString(value) && TYPES.includes(String(value));

/** From JSON Schema 2020-12; unknown keywords may have any value. */
const KEYWORDS: Readonly<Record<string, KeywordForm>> = {
  type: (value) =>
    isTypeName(value) ||
    (Array.isArray(value) && isWithinRange(value.length, 1, TYPES.length) && value.every(isTypeName)),
  properties: 'named',
  patternProperties: 'named',
  $defs: 'named',
  definitions: 'named',
  dependentSchemas: 'named',
  items: 'schema',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  unevaluatedProperties: 'schema',
  unevaluatedItems: 'schema',
  contains: 'schema',
  not: 'schema',
  if: 'schema',
  // biome-ignore lint/suspicious/noThenProperty: so the keyword is called
  then: 'schema',
  else: 'schema',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
  prefixItems: 'schemas',
  required: isStringArray,
  dependentRequired: (value) => isObject(value) && Object.values(value).every(isStringArray),
  enum: Array.isArray,
  $ref: isString,
  $id: isString,
  $anchor: isString,
  title: isString,
  description: isString,
  format: isString,
  pattern: isString,
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: isBoolean,
  examples: Array.isArray,
};

type SchemaPath = PropertyKey[];

/** Returns at most twenty issues. */
export const checkSchema = (root: unknown): Issue[] => {
  const search = new SchemaChecker();
  if (isObject(root)) search.checkSubschema(root, []);
  else search.addIssue([], 'must be an object');
  return search.issues;
};

class SchemaChecker {
  readonly issues: Issue[] = [];
  #parts = 0;

  addIssue(path: SchemaPath, message: string): void {
    this.issues.push({ path: formatPath(path), message });
  }

  checkSubschema(part: unknown, path: SchemaPath): void {
    if (this.#isExhausted()) return;
    if (++this.#parts > MAX_SUBSCHEMAS) this.addIssue([], `has more than ${MAX_SUBSCHEMAS} parts`);
    else if (isObject(part)) this.#checkKeywords(part, path);
    else if (typeof part !== 'boolean') this.addIssue(path, 'must be a schema: an object, true or false');
  }

  #isExhausted(): boolean {
    return this.issues.length >= MAX_ISSUES || this.#parts > MAX_SUBSCHEMAS;
  }

  #checkKeywords(part: Record<string, unknown>, path: SchemaPath): void {
    for (const keyword in part) {
      const form = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
      if (this.#isExhausted()) return;
      if (form !== undefined) this.#checkKeyword(form, part[keyword], [...path, keyword]);
    }
  }

  #checkKeyword(form: KeywordForm, value: unknown, path: SchemaPath): void {
    if (form === 'schema') this.checkSubschema(value, path);
    else if (typeof form === 'function') {
      if (!form(value)) this.addIssue(path, 'has a value that the keyword cannot have');
    } else if (form === 'named') {
      if (isObject(value)) for (const name in value) this.checkSubschema(value[name], [...path, name]);
      else this.addIssue(path, 'must be an object of schemas');
    } else if (Array.isArray(value) && value.length > 0) {
      for (let index = 0; index < value.length && !this.#isExhausted(); index++)
        this.checkSubschema(value[index], [...path, index]);
    } else {
      this.addIssue(path, 'must be an array of schemas');
    }
  }
}

export const JsonSchema = z
  .custom<JsonObject>()
  .superRefine((value, context) => {
    for (const { path, message } of checkSchema(value)) {
      context.addIssue({ code: 'custom', path: path === '' ? [] : [path], message: `is not JSON Schema: ${message}` });
    }
  })
  .meta({ type: 'object', description: `a JSON Schema of at most ${MAX_SUBSCHEMAS} parts` });
