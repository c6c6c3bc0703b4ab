import type { Issue } from '../errors.ts';
import {
  checkNumber,
  checkSize,
  checkString,
  isJsonType,
  type KeywordIssue,
  type SchemaKeywords,
  toKeywordIssue,
} from './check-keywords.ts';
import type { Subschema } from './compile-json-schema.ts';
import { toCanonicalJson } from './fingerprint.ts';
import { isObject } from './json.ts';
import { formatPath, MAX_ISSUE_TEXT, MAX_ISSUES, REQUIRED_MESSAGE } from './parse-or-throw.ts';

export class TooManyStepsError extends Error {}

/** Some tenths of a microsecond each: a few milliseconds in total. */
export const MAX_VALIDATION_STEPS = 50_000;

const FORMAT_STEPS = 10;

/** Far below the depth that overflows the stack. */
const MAX_NESTING = 500;

/** Throws TooManyStepsError. */
export const checkValue = (whole: Subschema, value: unknown, path: PropertyKey[] = []): Issue[] => {
  const check = new ValueChecker();
  return check.isValid(whole, value) ? [] : check.listIssues(whole, value, path);
};

/**
 * Caches each result per subschema and value, so there are at most subschemas × values steps, whatever the references.
 */
export class ValueChecker {
  steps = 0;
  #nested = 0;
  /** Lists and objects by identity, scalars by value. */
  readonly #results = new Map<unknown, Map<Subschema, boolean>>();
  readonly #texts = new Map<unknown, string>();

  isValid(part: Subschema, value: unknown): boolean {
    let found = this.#results.get(value);
    if (!found) {
      found = new Map();
      this.#results.set(value, found);
    }
    const known = found.get(part);
    this.#countSteps(1);
    if (known !== undefined) return known;
    if (++this.#nested > MAX_NESTING) throw new TooManyStepsError('it is nested too deeply');
    const isRight =
      this.#checkKeywords(part, value) === undefined &&
      this.#isValidInPlace(part, value) &&
      this.#areChildrenValid(part, value);
    this.#nested--;
    found.set(part, isRight);
    return isRight;
  }

  /** The innermost issues, at most twenty. */
  listIssues(whole: Subschema, value: unknown, path: PropertyKey[]): Issue[] {
    const issues: Issue[] = [];
    const seen = new Map<string, Set<Subschema>>();
    const addIssue = (at: PropertyKey[], message: string): void => {
      if (issues.length < MAX_ISSUES) issues.push({ path: formatPath(at).slice(0, MAX_ISSUE_TEXT), message });
    };
    const visit = (part: Subschema, one: unknown, at: PropertyKey[]): void => {
      if (issues.length >= MAX_ISSUES || this.isValid(part, one)) return;
      const place = formatPath(at);
      const parts = seen.get(place) ?? new Set();
      if (parts.has(part)) return;
      seen.set(place, parts.add(part));
      const wrong = this.#checkKeywords(part, one);
      const before = issues.length;
      if (wrong) addIssue([...at, ...wrong.path], wrong.message);
      else visitChildren(part, one, at);
      if (issues.length === before) addIssue(at, 'must have another shape');
    };
    const visitChildren = (part: Subschema, one: unknown, at: PropertyKey[]): void => {
      for (const next of [part.ref, ...(part.allOf ?? [])]) if (next) visit(next, one, at);
      for (const [step, child, next] of iterateChildren(part, one)) {
        if (issues.length >= MAX_ISSUES) return;
        if (next.schema === false) addIssue([...at, step], 'unknown field');
        else if (!this.isValid(next, child)) visit(next, child, [...at, step]);
      }
    };
    visit(whole, value, path);
    return issues;
  }

  #countSteps(steps: number): void {
    this.steps += steps;
    if (this.steps > MAX_VALIDATION_STEPS)
      throw new TooManyStepsError(`it takes more than ${MAX_VALIDATION_STEPS} steps`);
  }

  #isValidInPlace(part: Subschema, value: unknown): boolean {
    const isValidPart = (one: Subschema): boolean => this.isValid(one, value);
    if (part.ref && !isValidPart(part.ref)) return false;
    if (part.allOf && !part.allOf.every(isValidPart)) return false;
    if (part.anyOf && !part.anyOf.some(isValidPart)) return false;
    if (part.oneOf && part.oneOf.filter(isValidPart).length !== 1) return false;
    if (part.not && isValidPart(part.not)) return false;
    if (part.if) {
      const next = isValidPart(part.if) ? part.then : part.else;
      if (next && !isValidPart(next)) return false;
    }
    if (!part.dependentSchemas || !isObject(value)) return true;
    this.#countSteps(part.dependentSchemas.size);
    return [...part.dependentSchemas].every(([name, next]) => !Object.hasOwn(value, name) || isValidPart(next));
  }

  #areChildrenValid(part: Subschema, value: unknown): boolean {
    for (const [, child, next] of iterateChildren(part, value)) if (!this.isValid(next, child)) return false;
    if (!part.contains || !Array.isArray(value)) return true;
    const { minContains = 1, maxContains = Infinity } = isObject(part.schema) ? part.schema : {};
    const { contains } = part;
    const count = value.filter((child) => this.isValid(contains, child)).length;
    return count >= Number(minContains) && count <= Number(maxContains);
  }

  #checkKeywords(part: Subschema, value: unknown): KeywordIssue | undefined {
    const { schema, choices } = part;
    if (typeof schema === 'boolean') return schema ? undefined : toKeywordIssue('is not allowed');
    if (schema.type !== undefined && ![schema.type].flat().some((type) => isJsonType(type, value))) {
      return toKeywordIssue(`must be ${[schema.type].flat().join(' or ')}`);
    }
    if (choices) {
      if (!choices.all.has(this.#getCanonicalText(value))) return toKeywordIssue(choices.text.slice(0, 200));
    }
    if (typeof value === 'number') return checkNumber(schema, value);
    if (typeof value === 'string') {
      this.#countSteps((value.length >> 6) + (schema.format === undefined ? 0 : FORMAT_STEPS));
      return checkString(schema, value);
    }
    if (Array.isArray(value)) {
      if (schema.uniqueItems !== true) return checkSize(schema, 'Items', value.length);
      const isRepeated = new Set(value.map((item) => this.#getCanonicalText(item))).size < value.length;
      return isRepeated ? toKeywordIssue('must not repeat an item') : checkSize(schema, 'Items', value.length);
    }
    return isObject(value) ? this.#checkFields(part, schema, value) : undefined;
  }

  #checkFields(part: Subschema, schema: SchemaKeywords, value: Record<string, unknown>): KeywordIssue | undefined {
    const names = Object.keys(value);
    const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
    this.#countSteps(required.length + names.length);
    const missing = required.find((name) => !Object.hasOwn(value, String(name)));
    if (missing !== undefined) return toKeywordIssue(REQUIRED_MESSAGE, String(missing));
    if (isObject(schema.dependentRequired)) {
      for (const [name, others] of Object.entries(schema.dependentRequired)) {
        const wanted: unknown[] = Object.hasOwn(value, name) && Array.isArray(others) ? others : [];
        this.#countSteps(1 + wanted.length);
        const absent = wanted.find((other) => !Object.hasOwn(value, String(other)));
        if (absent !== undefined) return toKeywordIssue(`${REQUIRED_MESSAGE} beside ${name}`, String(absent));
      }
    }
    const { propertyNames } = part;
    const wrong = propertyNames && names.find((name) => !this.isValid(propertyNames, name));
    return wrong === undefined
      ? checkSize(schema, 'Properties', names.length)
      : toKeywordIssue('has a name that is not allowed', wrong);
  }

  #getCanonicalText(value: unknown): string {
    this.#countSteps(1);
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    this.#countSteps(this.#estimateSteps(value));
    const text = toCanonicalJson(value);
    this.#texts.set(value, text);
    return text;
  }

  #estimateSteps(value: unknown): number {
    if (typeof value === 'string') return 1 + (value.length >> 6);
    if (typeof value !== 'object' || value === null) return 1;
    let size = 1;
    for (const [name, child] of Object.entries(value)) {
      size += (name.length >> 6) + this.#estimateSteps(child);
      if (this.steps + size > MAX_VALIDATION_STEPS) break;
    }
    return size;
  }
}

const iterateChildren = function* (part: Subschema, value: unknown): Generator<[PropertyKey, unknown, Subschema]> {
  if (Array.isArray(value)) {
    const { prefixItems = [], items } = part;
    if (!part.prefixItems && !items) return;
    for (let index = 0; index < value.length; index++) {
      const next = prefixItems[index] ?? items;
      if (!next) return;
      yield [index, value[index], next];
    }
  } else if (isObject(value)) {
    const { properties, additionalProperties } = part;
    if (!properties && !additionalProperties) return;
    for (const name of Object.keys(value)) {
      const next = properties?.get(name) ?? additionalProperties;
      if (next) yield [name, value[name], next];
    }
  }
};
