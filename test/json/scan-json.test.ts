import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findUnsafeJson } from '../../shared/kernel/json/find-unsafe-json.ts';
import { MAX_DEPTH, MAX_VALUES, scanJson } from '../../shared/kernel/json/scan-json.ts';

const scanned = (text: string) => scanJson(Buffer.from(text));
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('JSON scan', () => {
  it('detects JSON that is too deep, and ignores brackets and quotes in strings', () => {
    assert.equal(scanned(nested(MAX_DEPTH)).problem, undefined);
    assert.equal(scanned(nested(MAX_DEPTH + 1)).problem, 'depth');
    for (const text of [
      '['.repeat(100),
      '"['.repeat(100),
      `${'x'.repeat(70)}\\"${'['.repeat(100)}`,
      '\\"'.repeat(200),
    ]) {
      assert.equal(scanned(JSON.stringify([text, [text]])).problem, undefined, text);
      assert.equal(scanned(`[${JSON.stringify(text)},${nested(MAX_DEPTH)}]`).problem, 'depth', text);
    }
  });

  it('detects JSON with too many values', () => {
    const list = (count: number): string => `[${'1,'.repeat(count - 1)}1]`;
    assert.equal(scanned(list(MAX_VALUES - 1)).problem, undefined);
    assert.equal(scanned(list(MAX_VALUES)).problem, 'values');
    assert.equal(scanned(JSON.stringify(','.repeat(MAX_VALUES))).problem, undefined);
  });

  it('asks for an inspection of every text that holds unsafe JSON', () => {
    const number = fc.oneof(fc.double({ noNaN: true }), fc.bigInt({ min: 0n, max: 10n ** 20n }).map(Number), fc.nat());
    const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', '\ud83d', '"', '\\'));
    const json = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, fc.oneof(number, key, fc.boolean()), fc.array(tie('value')), tie('object')),
      object: fc.array(fc.tuple(key, tie('value'))).map((fields) => Object.fromEntries(fields)),
    })).value;
    fc.assert(
      fc.property(json, fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        if (findUnsafeJson(JSON.parse(text))) assert.ok(scanned(text).needsInspection, text);
      }),
      { numRuns: 3000 },
    );
  });

  it('scans any bytes without an exception', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void scanJson(bytes)));
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('"', '\\', '[', '{', '}', ':', ',', '1', 'e')),
        (some) => void scanned(some.join('')),
      ),
    );
  });
});
