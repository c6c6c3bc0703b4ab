import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadAdminKeys } from '../../local/admin-keys.ts';
import { generateKey } from '../../shared/identity/auth/keys.ts';
import { tempDir } from '../support/server-process.ts';

describe("an administrator's key that somebody chose", () => {
  const GUESSED: [project: string, variable: string, key: string][] = [
    ['camelot', 'PARLEY_ADMIN_KEY_CAMELOT', `prl_camelot.@admin.${'k'.repeat(43)}`],
    ['default', 'PARLEY_ADMIN_KEY', `prl_default.@admin.${'k'.repeat(43)}`],
    ['default', 'PARLEY_ADMIN_KEY', `prl_default.@admin.${'k'.repeat(20)}`],
    ['default', 'PARLEY_ADMIN_KEY', 'k'.repeat(43)],
  ];
  for (const [project, variable, key] of GUESSED) {
    it(`is refused where its secret part could be guessed, whatever stands before it: ${key}`, (t) => {
      assert.throws(() => loadAdminKeys(tempDir(t), [project], { [variable]: key }), /different characters/);
    });
  }

  it('is taken where its secret part is random', (t) => {
    const key = generateKey('camelot', '@admin');
    const [, camelot] = loadAdminKeys(tempDir(t), ['camelot'], { PARLEY_ADMIN_KEY_CAMELOT: key });
    assert.equal(camelot?.key, key);
  });
});
