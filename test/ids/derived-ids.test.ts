import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expandShortId, isDerivedId, uuidFromSeed } from '../../shared/kernel/ids.ts';

const withoutSeal = (id: string): string => id.slice(0, -12);
const sealOf = (id: string): string => id.slice(-12);

describe('an id that Parley makes', () => {
  it('is known as such, whether or not its first digits were given', () => {
    for (const id of [uuidFromSeed(['alias', 'build-42']), expandShortId('coder', 'msg_0a1b2c3d', 1_700_000_000_000)]) {
      assert.ok(isDerivedId(id), id);
      assert.ok(isDerivedId(`msg-${id.toUpperCase()}`), id);
      assert.ok(!isDerivedId(`${withoutSeal(id)}000000000000`), id);
    }
  });

  it('with given first digits has another seal, so that no search for its other digits finds an alias', () => {
    const digits = (id: string): string => id.slice(0, 8);
    const alias = uuidFromSeed(['alias', 'build-42']);
    // The same parts and the same digits: what an attacker would find after some 2^42 tries.
    const found = uuidFromSeed(['alias', 'build-42'], digits(alias));
    assert.equal(withoutSeal(found), withoutSeal(alias));
    assert.notEqual(sealOf(found), sealOf(alias));
  });
});
