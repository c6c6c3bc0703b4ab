import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Item, Records, Ref } from '../../ports/records.ts';

const SYSTEM_ROLES = ['admin', 'relay'] as const;
export type SystemRole = (typeof SYSTEM_ROLES)[number];

export interface SystemRoleKey extends Item {
  sk: SystemRole;
  keyHash: string;
}

export const systemRoleKeyRef = (project: string, role: SystemRole): Ref<SystemRoleKey> => ({
  pk: `${project}#${role}`,
  sk: role,
});

/** Not a valid agent id, so it cannot collide with one. */
export const ADMIN_OWNER = '@admin';
export const RELAY_OWNER = '@relay';
export const parseSystemRole = (owner: string): SystemRole | undefined =>
  SYSTEM_ROLES.find((role) => owner === `@${role}`);
const KEY_PATTERN = /^prl_([a-z0-9-]{1,32})\.(@admin|@relay|[a-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** 256 random bits. */
export const generateKey = (project: string, owner: string): string =>
  `prl_${project}.${owner}.${randomBytes(32).toString('base64url')}`;

/** A plain hash suffices: the key is long and random. */
export const hashKey = (key: string): string => hash('sha256', key, 'base64url');

/** For chosen keys: rejects "aaaaaaaaaaaaaaaa" and "1234512345123451". */
export const MIN_DISTINCT_CHARACTERS = 8;
export const isHardToGuess = (key: string): boolean => new Set(key.replace(OWNER, '')).size >= MIN_DISTINCT_CHARACTERS;
const OWNER = /^prl_[^.]*\.[^.]*\./;

export const parseKeyOwner = (key: string): { project: string; owner: string } => {
  const [, project, owner] = KEY_PATTERN.exec(key) ?? [];
  // Any other form is an operator's key for the administrator.
  return project && owner ? { project, owner } : { project: 'default', owner: ADMIN_OWNER };
};

/** No key is empty, so none has this hash. */
const EMPTY_KEY_HASH = hashKey('');

/** Constant time, also without a hash to compare with. */
export const matchesKeyHash = (presented: string, keyHash: string | undefined): boolean =>
  timingSafeEqual(Buffer.from(presented), Buffer.from(keyHash ?? EMPTY_KEY_HASH)) && keyHash !== undefined;

/** The old key stops at once here, within seconds elsewhere. */
const createKeySetter = (role: SystemRole) => async (records: Records, project: string, key: string, token: string) => {
  await records.update(systemRoleKeyRef(project, role), { set: { keyHash: hashKey(key) } }, token, 'orCreate');
};
export const setAdminKey = createKeySetter('admin');
export const setRelayKey = createKeySetter('relay');
