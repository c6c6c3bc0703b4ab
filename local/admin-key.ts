import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, newKey, ownerOf } from '../shared/agents/keys.ts';
import { StartError } from './options.ts';

const SHORTEST = 16;

/** The key that the environment sets, the one that an earlier start made, or a new one. Only its owner can read the file. */
export const adminKeyIn = (dir: string, chosen: string | undefined): string => {
  if (chosen !== undefined) {
    if (!/^[!-~]+$/.test(chosen) || chosen.length < SHORTEST) {
      throw new StartError(`PARLEY_ADMIN_KEY must be at least ${SHORTEST} printable ASCII characters without spaces.`);
    }
    const { project, owner } = ownerOf(chosen);
    if (project !== 'default' || owner !== ADMIN) {
      throw new StartError(`PARLEY_ADMIN_KEY is a key of ${owner} in the project ${project}. Choose one of your own.`);
    }
    return chosen;
  }
  return keptKey(dir, 'admin-key', () => newKey('default', ADMIN));
};

/** The key in the file, which is made on the first start. */
export const keptKey = (dir: string, name: string, make: () => string): string => {
  const file = join(dir, name);
  try {
    const kept = readFileSync(file, 'utf8').trim();
    if (kept.length >= SHORTEST) return kept;
    throw new StartError(`${file} holds no key. Delete the file, and the next start makes a new key.`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const key = make();
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
};
