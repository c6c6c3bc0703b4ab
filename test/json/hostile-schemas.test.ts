import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  checkValue,
  MAX_VALIDATION_STEPS,
  TooManyStepsError,
  ValueChecker,
} from '../../shared/kernel/json/check-value.ts';
import { compileJsonSchema, type Subschema } from '../../shared/kernel/json/compile-json-schema.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);
const ref = fc.record({ $ref: name.map((one) => `#/$defs/${one}`) });

/** Random schemas that refer to each other. */
const { schema } = fc.letrec<{ schema: object }>((tie) => {
  const few = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
  return {
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(
        ref,
        fc.constantFrom({}, { type: 'array' }, { enum: [[[]], 1] }, { uniqueItems: true }, { minLength: 3 }),
      ),
      fc.record({ allOf: few }),
      fc.record({ anyOf: few }),
      fc.record({ oneOf: few }),
      fc.record({ not: tie('schema') }),
      fc.record({ items: fc.oneof(ref, tie('schema')) }),
      fc.record({ items: ref, anyOf: fc.array(fc.record({ items: ref }), { minLength: 1 }) }),
      fc.record({ contains: tie('schema'), uniqueItems: fc.boolean() }),
      fc.record({ properties: fc.dictionary(name, tie('schema')), additionalProperties: tie('schema') }),
      fc.record({ propertyNames: tie('schema'), dependentSchemas: fc.dictionary(name, tie('schema')) }),
    ),
  };
});
const whole = fc.record({
  $ref: name.map((one) => `#/$defs/${one}`),
  $defs: fc.record({ a: schema, b: schema, c: schema, d: schema }),
});

const compiled = (given: object): Subschema | undefined => {
  try {
    return compileJsonSchema(JSON.parse(JSON.stringify(given)));
  } catch (error) {
    assert.ok(error instanceof Error && !(error instanceof RangeError), String(error));
    return undefined;
  }
};

const stepsOf = (part: Subschema, value: unknown): number => {
  const check = new ValueChecker();
  try {
    if (!check.isValid(part, value)) check.listIssues(part, value, []);
  } catch (error) {
    assert.ok(error instanceof TooManyStepsError, String(error));
  }
  return check.steps;
};

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('budget of a client schema', () => {
  it('rejects a random schema, or checks any value with it in a bounded number of steps', () => {
    let checked = 0;
    fc.assert(
      fc.property(whole, fc.jsonValue({ maxDepth: 6 }), (given, value) => {
        const part = compiled(given);
        if (!part) return;
        checked++;
        assert.ok(stepsOf(part, value) <= MAX_VALIDATION_STEPS * 2);
        assert.ok(stepsOf(part, nested(60)) <= MAX_VALIDATION_STEPS * 2);
      }),
      { numRuns: 2000 },
    );
    assert.ok(checked > 100, `${checked} could be read`);
  });

  it('checks each part once in a schema that doubles with every reference', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`d${at}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${at + 1}` })) }]),
    );
    const part = compiled({ $ref: '#/$defs/d0', $defs: { ...$defs, d100: { type: 'string' } } });
    assert.ok(part);
    assert.ok(stepsOf(part, 'x') < 1000);
    assert.ok(stepsOf(part, 1) < 2000);
  });

  it('checks each level once in a schema that doubles with every level of the value', () => {
    const both = [1, 2].map(() => ({ items: { $ref: '#' } }));
    const part = compiled({ anyOf: both, allOf: both });
    assert.ok(part);
    assert.ok(stepsOf(part, nested(60)) < 1000);
  });

  it('aborts a check with too many parts times values', () => {
    const anyOf = Array.from({ length: 400 }, (_, at) => ({ const: at }));
    const part = compiled({ items: { anyOf } });
    assert.ok(part);
    assert.throws(
      () =>
        new ValueChecker().isValid(
          part,
          Array.from({ length: 10_000 }, (_, at) => at % 400),
        ),
      TooManyStepsError,
    );
  });

  it('counts the length of strings, of unique lists and of enumerated lists as steps', () => {
    const long = 'x'.repeat(64_000);
    const list = Array.from({ length: 1000 }, (_, at) => at);
    for (const [one, value] of [
      [{ minLength: 1 }, long],
      [{ uniqueItems: true }, list],
      [{ enum: [[]] }, list],
    ] as const) {
      const part = compiled(one);
      assert.ok(part);
      assert.ok(stepsOf(part, value) >= 1000, JSON.stringify(one));
    }
  });
});

describe('value with a very long field name', () => {
  const key = 'é"'.repeat(15_000);

  it('serializes a value once, however many enums it is compared with', () => {
    const many = (parts: number) => compileJsonSchema({ anyOf: Array.from({ length: parts }, () => ({ enum: [1] })) });
    const stepsFor = (parts: number): number => stepsOf(many(parts), { [key]: 1 });
    const length = key.length >> 6;
    assert.ok(stepsFor(1) > length, 'its name counts');
    assert.ok(stepsFor(400) < stepsFor(1) + 400 * 5, 'and counts once');
  });

  it('truncates very long field names in at most twenty issues', () => {
    const part = compileJsonSchema({
      additionalProperties: { allOf: Array.from({ length: 40 }, () => ({ type: 'string' })) },
    });
    const issues = checkValue(part, Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}${key}`, 1])));
    assert.equal(issues.length, 20);
    for (const { path } of issues) assert.ok(path.length <= 200, `${path.length} characters`);
  });
});
