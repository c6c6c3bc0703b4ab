import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generateKey, hashKey } from '../../shared/identity/auth/keys.ts';
import { isValidKey, type PresentedKey, parsePresentedKey } from '../../shared/identity/auth/presented-key.ts';

const present = (key: string): PresentedKey => {
  const presented = parsePresentedKey(`Bearer ${key}`);
  assert.ok(presented);
  return presented;
};

describe('a key that a caller presents', () => {
  it('is remembered once it was valid, and not before, so that strangers displace no valid one', () => {
    const [valid, wrong] = [generateKey('default', 'tim'), generateKey('default', 'tim')];
    const keyHash = hashKey(valid);
    assert.equal(isValidKey(present(wrong), keyHash), false);
    assert.notEqual(present(wrong), present(wrong));
    assert.equal(isValidKey(present(valid), keyHash), true);
    assert.equal(present(valid), present(valid));
    assert.deepEqual(present(valid), { header: `Bearer ${valid}`, project: 'default', owner: 'tim', keyHash });
  });

  it('is refused as soon as it was replaced or its owner removed, however well it is remembered', () => {
    const key = generateKey('default', 'tim');
    assert.equal(isValidKey(present(key), hashKey(key)), true);
    assert.equal(isValidKey(present(key), hashKey(generateKey('default', 'tim'))), false);
    assert.equal(isValidKey(present(key), undefined), false);
    assert.equal(isValidKey(present(key), hashKey(key)), true);
  });
});
