import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { toCanonicalJson } from '../../shared/kernel/json/fingerprint.ts';
import { isObject } from '../../shared/kernel/json/json.ts';

const sorted = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .sort()
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`);
  return `{${members.join(',')}}`;
};

const key = fc.oneof(fc.string(), fc.constantFrom('a', 'b', '10', '9', '__proto__', '😀', '\uffff'));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constantFrom(null, undefined)),
    fc.array(tie('value')),
    fc.array(fc.tuple(key, tie('value'))).map((fields) => Object.fromEntries(fields)),
  ),
}));

describe('canonical JSON', () => {
  it('sorts all keys of a value and otherwise writes it like JSON.stringify', () => {
    fc.assert(
      fc.property(value, (one) => assert.equal(toCanonicalJson(one), sorted(one))),
      { numRuns: 5000 },
    );
  });

  it('gives the same canonical text for every order of keys', () => {
    assert.equal(toCanonicalJson({ b: [{ d: 1, c: 2 }], a: 1 }), '{"a":1,"b":[{"c":2,"d":1}]}');
    assert.equal(toCanonicalJson({ 10: 1, 9: 2, a: undefined }), '{"10":1,"9":2}');
  });
});
