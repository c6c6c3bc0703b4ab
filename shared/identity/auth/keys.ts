import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Item, Records, Ref } from '../../ports/records.ts';

/**
 * Whoever acts for others. The administrator of a project may register agents and speak for them, its relay may speak for those
 * on NATS.
 */
const SYSTEM_ROLES = ['admin', 'relay'] as const;
export type SystemRole = (typeof SYSTEM_ROLES)[number];

export interface SystemRoleKey extends Item {
  sk: SystemRole;
  keyHash: string;
}

export const systemRoleKeyRef = (project: string, office: SystemRole): Ref<SystemRoleKey> => ({
  pk: `${project}#${office}`,
  sk: office,
});

/** What an office's key has where an agent's has the agent. No agent id can look like it. */
export const ADMIN_OWNER = '@admin';
export const RELAY_OWNER = '@relay';
export const parseSystemRole = (owner: string): SystemRole | undefined =>
  SYSTEM_ROLES.find((office) => owner === `@${office}`);
const KEY_PATTERN = /^prl_([a-z0-9-]{1,32})\.(@admin|@relay|[a-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** A key names whom it belongs to; 256 random bits prove it. */
export const generateKey = (project: string, owner: string): string =>
  `prl_${project}.${owner}.${randomBytes(32).toString('base64url')}`;

/** A key is random and long, so that a plain hash is enough: there is nothing to guess. */
export const hashKey = (key: string): string => hash('sha256', key, 'base64url');

/** Of a key that somebody chose: "aaaaaaaaaaaaaaaa" and "1234512345123451" are guessed first. Whose it is, everybody knows. */
export const MIN_DISTINCT_CHARACTERS = 8;
export const isHardToGuess = (key: string): boolean => new Set(key.replace(OWNER, '')).size >= MIN_DISTINCT_CHARACTERS;
const OWNER = /^prl_[^.]*\.[^.]*\./;

export const parseKeyOwner = (key: string): { project: string; owner: string } => {
  const [, project, owner] = KEY_PATTERN.exec(key) ?? [];
  // A key of any other form can only be one that an operator chose for the administrator.
  return project && owner ? { project, owner } : { project: 'default', owner: ADMIN_OWNER };
};

/** No key has it: none is empty. */
const EMPTY_KEY_HASH = hashKey('');

/** Takes the same time wherever the two differ, and where there is nothing to compare with. */
export const matchesKeyHash = (key: string, keyHash: string | undefined): boolean =>
  timingSafeEqual(Buffer.from(hashKey(key)), Buffer.from(keyHash ?? EMPTY_KEY_HASH)) && keyHash !== undefined;

/** The key that was set before stops working, here at once and elsewhere within seconds. */
const createKeySetter =
  (office: SystemRole) => async (records: Records, project: string, key: string, token: string) => {
    await records.update(systemRoleKeyRef(project, office), { set: { keyHash: hashKey(key) } }, token, 'orCreate');
  };
export const setAdminKey = createKeySetter('admin');
export const setRelayKey = createKeySetter('relay');
