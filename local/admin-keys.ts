import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ADMIN_OWNER,
  DEFAULT_PROJECT,
  generateKey,
  isHardToGuess,
  MIN_DISTINCT_CHARACTERS,
  parseKeyOwner,
} from '../shared/identity/auth/keys.ts';
import { StartError } from './cli-options.ts';

const MIN_KEY_LENGTH = 16;

export interface AdminKey {
  project: string;
  key: string;
  source: { variable: string } | { file: string; isNew: boolean };
}

export const loadAdminKeys = (
  dir: string,
  projects: Iterable<string>,
  environment: Record<string, string | undefined>,
): [AdminKey, ...AdminKey[]] => {
  const others = [...projects].filter((project) => project !== DEFAULT_PROJECT);
  return [
    loadAdminKey(dir, DEFAULT_PROJECT, environment),
    ...others.map((project) => loadAdminKey(dir, project, environment)),
  ];
};

/** Order: environment, file of an earlier start, new key. The file has mode 0600. */
const loadAdminKey = (dir: string, project: string, environment: Record<string, string | undefined>): AdminKey => {
  const variable = buildKeyVariable(project);
  const chosen = environment[variable];
  if (chosen !== undefined) return { project, key: assertChosenKey(variable, project, chosen), source: { variable } };
  const name = buildKeyFileName('admin-key', project);
  let isNew = false;
  const key = loadOrCreateKey(dir, name, () => {
    isNew = true;
    return generateKey(project, ADMIN_OWNER);
  });
  return { project, key, source: { file: join(dir, name), isNew } };
};

/** Unique: project names contain no underscore. */
const buildKeyVariable = (project: string): string =>
  project === DEFAULT_PROJECT ? 'PARLEY_ADMIN_KEY' : `PARLEY_ADMIN_KEY_${project.toUpperCase().replaceAll('-', '_')}`;

export const buildKeyFileName = (name: string, project: string): string =>
  project === DEFAULT_PROJECT ? name : `${name}.${project}`;

const assertChosenKey = (variable: string, project: string, chosen: string): string => {
  if (!/^[!-~]+$/.test(chosen) || chosen.length < MIN_KEY_LENGTH) {
    throw new StartError(`${variable} must be at least ${MIN_KEY_LENGTH} printable ASCII characters without spaces.`);
  }
  if (!isHardToGuess(chosen)) {
    throw new StartError(
      `${variable} has fewer than ${MIN_DISTINCT_CHARACTERS} different characters, and could be guessed. Choose a random one.`,
    );
  }
  const owned = parseKeyOwner(chosen);
  if (!owned) {
    throw new StartError(
      `${variable} begins as a key of Parley does, and is none: its checksum is wrong. Copy all of it, or choose a text that begins otherwise.`,
    );
  }
  if (owned.owner === ADMIN_OWNER && owned.project === project) return chosen;
  const whose = `${variable} is a key of ${owned.owner} in the project ${owned.project}.`;
  if (project === DEFAULT_PROJECT) throw new StartError(`${whose} Choose one of your own.`);
  throw new StartError(
    `${whose} A key tells which project it opens: that of ${project} begins with prl_${project}.${ADMIN_OWNER}. and a start without ${variable} makes one.`,
  );
};

export const loadOrCreateKey = (dir: string, name: string, make: () => string): string => {
  const file = join(dir, name);
  try {
    const kept = readFileSync(file, 'utf8').trim();
    if (kept.length >= MIN_KEY_LENGTH && parseKeyOwner(kept)) return kept;
    throw new StartError(`${file} holds no key. Delete the file, and the next start makes a new key.`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const key = make();
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
};
