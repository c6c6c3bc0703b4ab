import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  applyChange,
  type Change,
  type Condition,
  evaluateCondition,
  mergeChanges,
  type Scalar,
} from '../../shared/ports/conditions.ts';

/** A record as a list of paths: what stands at the top, and in one level of map. An empty map has no path of its own. */
type Model = Map<string, Scalar>;

const TOP = ['status', 'size', 'toString', 'map'];
const INNER = ['a', 'call.1', 'size', 'constructor', '__proto__'];
const PATHS = [...TOP, ...INNER.map((name) => `waiting.${name}`)];

const scalar = fc.oneof(fc.integer({ min: -2, max: 2 }), fc.constantFrom('', 'a', 'b', '1'), fc.boolean());
const ordered = fc.oneof(fc.integer({ min: -2, max: 2 }), fc.constantFrom('', 'a', 'b', '1'));
const path = fc.constantFrom(...PATHS, 'missing', 'missing.a', 'status.a');
const model: fc.Arbitrary<Model> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...PATHS), scalar), { selector: ([name]) => name })
  .map((entries) => new Map(entries));

const condition: fc.Arbitrary<Condition> = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({ field: path, is: scalar }),
    fc.record({ field: path, isNot: scalar }),
    fc.record({ field: path, below: ordered }),
    fc.record({ field: path, above: ordered }),
    fc.record({ field: path, oneOf: fc.array(scalar, { maxLength: 3 }) }),
    fc.record({ field: path, present: fc.boolean() }),
    fc.record({ all: fc.array(tie('condition'), { maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('condition'), { maxLength: 3 }) }),
  ),
})).condition;

/** The paths of a model as a record, made without the code under test. */
const recordOf = (paths: Model): object => {
  const top = [...paths].filter(([name]) => !name.startsWith('waiting.'));
  const inner = [...paths].flatMap(([name, value]) => (name.startsWith('waiting.') ? [[name.slice(8), value]] : []));
  return Object.fromEntries([...top, ...(inner.length > 0 ? [['waiting', Object.fromEntries(inner)]] : [])]);
};

/** Every condition by its plain meaning. */
const means = (paths: Model, asked: Condition): boolean => {
  if ('all' in asked) return !asked.all.some((part) => !means(paths, part));
  if ('any' in asked) return !asked.any.every((part) => !means(paths, part));
  const value = paths.get(asked.field);
  if ('present' in asked) return paths.has(asked.field) === asked.present;
  if ('is' in asked) return value === asked.is;
  if ('isNot' in asked) return !(value === asked.isNot);
  if ('oneOf' in asked) return new Set<unknown>(asked.oneOf).has(value);
  const limit = 'below' in asked ? asked.below : asked.above;
  if (value === undefined || typeof value !== typeof limit) return false;
  const [low, high] = 'below' in asked ? [value, limit] : [limit, value];
  return low !== high && [low, high].toSorted((a, b) => (a < b ? -1 : 1))[0] === low;
};

/** A change that touches each path once, as DynamoDB demands, and what it does to the model. */
const change = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom(...PATHS),
      fc.oneof(
        fc.record({ set: fc.option(scalar, { nil: undefined }) }, { requiredKeys: ['set'] }),
        fc.record({ add: fc.integer({ min: -3, max: 3 }) }),
        fc.constant({ unset: true as const }),
      ),
    ),
    { selector: ([name]) => name },
  )
  .map((steps) => {
    const pick = <T>(kind: string, value: (step: object) => T): [string, T][] =>
      steps.flatMap(([name, step]) => (kind in step ? [[name, value(step)]] : []));
    const asked: Change = {
      set: Object.fromEntries(pick('set', (step) => ('set' in step ? step.set : undefined))),
      add: Object.fromEntries(pick('add', (step) => ('add' in step ? Number(step.add) : 0))),
      unset: pick('unset', () => true).map(([name]) => name),
    };
    return { steps, asked };
  });

const changed = (paths: Model, steps: [string, object][]): Model => {
  const after = new Map(paths);
  for (const [name, step] of steps) {
    const value = after.get(name);
    if ('unset' in step) after.delete(name);
    if ('set' in step && step.set !== undefined) after.set(name, step.set as Scalar);
    if ('add' in step) after.set(name, (typeof value === 'number' ? value : 0) + Number(step.add));
  }
  return after;
};

/** Back to paths, so that an empty map, which no condition can tell from none within it, does not count. */
const pathsOf = (record: object): Model =>
  new Map(
    Object.entries(record).flatMap(([name, value]): [string, Scalar][] =>
      name === 'waiting' && typeof value === 'object'
        ? Object.entries(value ?? {}).map(([inner, scalarValue]) => [`waiting.${inner}`, scalarValue as Scalar])
        : [[name, value]],
    ),
  );

const sorted = (paths: Model) => [...paths].toSorted(([a], [b]) => (a < b ? -1 : 1));

const frozen = <T extends object>(value: T): T => {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) frozen(inner);
  return Object.freeze(value);
};

describe('conditions and changes', () => {
  it('hold exactly where their plain meaning does', () => {
    fc.assert(
      fc.property(model, condition, (paths, asked) => {
        assert.equal(evaluateCondition(asked, recordOf(paths)), means(paths, asked));
      }),
      { numRuns: 2000 },
    );
  });

  it('change exactly the paths that they name, and nothing of the record that was given', () => {
    fc.assert(
      fc.property(model, change, (paths, { steps, asked }) => {
        const after = applyChange(frozen(recordOf(paths)), frozen(asked));
        assert.deepEqual(sorted(pathsOf(after)), sorted(changed(paths, steps)));
      }),
      { numRuns: 2000 },
    );
  });

  it('find what a change has set, and miss what it has unset', () => {
    fc.assert(
      fc.property(model, change, (paths, { asked }) => {
        const after = applyChange(recordOf(paths), asked);
        for (const [field, value] of Object.entries(asked.set ?? {})) {
          if (value !== undefined) assert.ok(evaluateCondition({ field, is: value as Scalar }, after), field);
        }
        for (const field of asked.unset ?? []) assert.ok(evaluateCondition({ field, present: false }, after), field);
      }),
      { numRuns: 1000 },
    );
  });

  it('do not take what every object inherits for a field', () => {
    for (const field of ['toString', 'constructor', '__proto__', 'waiting.toString']) {
      assert.equal(evaluateCondition({ field, present: true }, { waiting: {} }), false);
    }
  });

  it('make no map where there is nothing to unset', () => {
    assert.deepEqual(applyChange({ a: 1 }, { unset: ['waiting.call-1'] }), { a: 1 });
  });
});

describe('changes in order', () => {
  it('do as one what they do one after the other', () => {
    const changes: Change[] = [
      { set: { a: 1, b: 1 }, unset: ['c'], add: { n: 1 } },
      { set: { c: 2, d: undefined }, unset: ['a'], add: { n: 2, m: 1 } },
    ];
    const record = { a: 0, c: 0, d: 0, n: 5 };
    assert.deepEqual(applyChange(record, mergeChanges(...changes)), changes.reduce<object>(applyChange, record));
  });
});
