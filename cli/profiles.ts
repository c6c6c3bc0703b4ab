import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { getText, type OptionValues, UsageError } from './command.ts';

export interface Profile {
  url: string;
  key: string;
}

interface ProfileFile {
  current?: string;
  profiles: Record<string, Profile>;
}

const getProfilePath = (): string =>
  join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'parley', 'profiles.json');

export const readProfiles = (): ProfileFile => {
  const path = getProfilePath();
  if (!existsSync(path)) return { profiles: {} };
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw new UsageError(`${path} is not JSON. Mend or delete it.`);
  }
};

/** Keys are for their owner alone; a crash leaves the old file. */
export const writeProfiles = (file: ProfileFile): void => {
  const path = getProfilePath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
};

const LOCAL_URL = 'http://127.0.0.1:4100';
const LOCAL_KEY_FILE = join('.parley', 'admin-key');

/** Options, then the environment, then the profile, then the server of this folder. */
export const resolveConnection = (options: OptionValues): Profile => {
  const { PARLEY_URL, PARLEY_KEY, PARLEY_PROFILE } = process.env;
  const { current, profiles } = readProfiles();
  const asked = getText(options, 'profile') ?? PARLEY_PROFILE;
  const name = asked ?? current;
  const profile = name === undefined ? undefined : profiles[name];
  if (asked !== undefined && !profile) {
    throw new UsageError(`There is no profile "${asked}". parley profiles add ${asked} --url … --key … makes it.`);
  }
  const url = getText(options, 'url') ?? (asked ? profile?.url : (PARLEY_URL ?? profile?.url)) ?? LOCAL_URL;
  const key = getText(options, 'key') ?? (asked ? profile?.key : (PARLEY_KEY ?? profile?.key)) ?? readLocalKey();
  if (key) return { url, key };
  throw new UsageError(
    `No key. Pass --key, set PARLEY_KEY, add a profile, or run this in the folder where ${LOCAL_KEY_FILE} is.`,
  );
};

const readLocalKey = (): string | undefined =>
  existsSync(LOCAL_KEY_FILE) ? readFileSync(LOCAL_KEY_FILE, 'utf8').trim() : undefined;
