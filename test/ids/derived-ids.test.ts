import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expandShortId, isDerivedId, uuidFromSeed } from '../../shared/kernel/ids.ts';

const withoutSeal = (id: string): string => id.slice(0, -12);
const sealOf = (id: string): string => id.slice(-12);

describe('derived id', () => {
  it('recognizes a derived id, with or without given first digits', () => {
    for (const id of [uuidFromSeed(['alias', 'build-42']), expandShortId('coder', 'msg_0a1b2c3d', 1_700_000_000_000)]) {
      assert.ok(isDerivedId(id), id);
      assert.ok(isDerivedId(`msg-${id.toUpperCase()}`), id);
      assert.ok(!isDerivedId(`${withoutSeal(id)}000000000000`), id);
    }
  });

  it('gives an id with given first digits another seal, so that it never equals an alias', () => {
    const digits = (id: string): string => id.slice(0, 8);
    const alias = uuidFromSeed(['alias', 'build-42']);
    // The same seed and digits, which an attacker finds after about 2^42 tries.
    const found = uuidFromSeed(['alias', 'build-42'], digits(alias));
    assert.equal(withoutSeal(found), withoutSeal(alias));
    assert.notEqual(sealOf(found), sealOf(alias));
  });
});
