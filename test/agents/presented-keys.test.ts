import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ApiKey, buildApiKey, findValidKey } from '../../shared/identity/auth/api-key.ts';
import { generateKey, hashKey, parseKeyOwner } from '../../shared/identity/auth/keys.ts';
import { type PresentedKey, parsePresentedKey } from '../../shared/identity/auth/presented-key.ts';

const NOW = 1000;

const present = (key: string): PresentedKey => {
  const presented = parsePresentedKey(`Bearer ${key}`);
  assert.ok(presented && presented !== 'malformed');
  return presented;
};

const storedAs = (key: string): ApiKey[] => {
  const keyHash = hashKey(key);
  const stored = buildApiKey({ project: 'default', agent: 'worker', name: 'default', scope: 'agent', keyHash });
  return [{ ...stored, v: 1, token: 't', at: 0 }];
};
const isValid = (presented: string, stored: ApiKey[]) => findValidKey(present(presented), stored, NOW) !== undefined;

describe('a key that a caller presents', () => {
  it('is remembered once it was valid, and not before, so that strangers displace no valid one', () => {
    const [valid, wrong] = [generateKey('default', 'worker'), generateKey('default', 'worker')];
    const stored = storedAs(valid);
    assert.equal(isValid(wrong, stored), false);
    assert.notEqual(present(wrong), present(wrong));
    assert.equal(isValid(valid, stored), true);
    assert.equal(present(valid), present(valid));
    const keyHash = hashKey(valid);
    assert.deepEqual(present(valid), { header: `Bearer ${valid}`, project: 'default', owner: 'worker', keyHash });
  });

  it('is refused as soon as it was replaced or its owner removed, however well it is remembered', () => {
    const key = generateKey('default', 'worker');
    assert.equal(isValid(key, storedAs(key)), true);
    assert.equal(isValid(key, storedAs(generateKey('default', 'worker'))), false);
    assert.equal(isValid(key, []), false);
    assert.equal(isValid(key, storedAs(key)), true);
  });

  it('is told from a mistyped one by itself, wherever one character differs', () => {
    const key = generateKey('default', 'worker');
    assert.deepEqual(parseKeyOwner(key), { project: 'default', owner: 'worker' });
    for (let at = 4; at < key.length; at++) {
      const other = key[at] === 'a' ? 'b' : 'a';
      assert.equal(parseKeyOwner(key.slice(0, at) + other + key.slice(at + 1)), undefined, `${at}`);
    }
    assert.equal(parseKeyOwner(key.slice(0, -1)), undefined);
  });
});
