import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Its operators look after the whole machine. */
export const DEFAULT_PROJECT = 'default';

/** Keys of a project that belong to no agent have such owners: no agent id contains an @. */
export const ADMIN_OWNER = '@admin';
export const RELAY_OWNER = '@relay';
export const toOperatorOwner = (name: string): string => `@${name}`;
/** The name of a key that belongs to no agent. */
export const parseOperatorOwner = (owner: string): string | undefined =>
  owner.startsWith('@') ? owner.slice(1) : undefined;

const KEY_PATTERN = /^prl_([a-z0-9-]{1,32})\.(@?[a-z0-9_-]{1,64})\.[A-Za-z0-9_-]{43}([A-Za-z0-9_-]{6})$/;
const KEY_PREFIX = 'prl_';

/** 256 random bits and a checksum: a key with a typing error costs no read. */
export const generateKey = (project: string, owner: string): string => {
  const unchecked = `${KEY_PREFIX}${project}.${owner}.${randomBytes(32).toString('base64url')}`;
  return unchecked + computeChecksum(unchecked);
};

const CHECKSUM_LENGTH = 6;
const computeChecksum = (unchecked: string): string => hashKey(unchecked).slice(0, CHECKSUM_LENGTH);

/** A plain hash suffices: the key is long and random. */
export const hashKey = (key: string): string => hash('sha256', key, 'base64url');

/** For chosen keys: rejects "aaaaaaaaaaaaaaaa" and "1234512345123451". */
export const MIN_DISTINCT_CHARACTERS = 8;
export const isHardToGuess = (key: string): boolean => new Set(key.replace(OWNER, '')).size >= MIN_DISTINCT_CHARACTERS;
const OWNER = /^prl_[^.]*\.[^.]*\./;

/** Undefined for what looks like a key of Parley and is none. Any other text is an operator's choice for the administrator. */
export const parseKeyOwner = (key: string): { project: string; owner: string } | undefined => {
  if (!key.startsWith(KEY_PREFIX)) return { project: DEFAULT_PROJECT, owner: ADMIN_OWNER };
  const [, project, owner, checksum] = KEY_PATTERN.exec(key) ?? [];
  if (project === undefined || owner === undefined) return undefined;
  return computeChecksum(key.slice(0, -CHECKSUM_LENGTH)) === checksum ? { project, owner } : undefined;
};

/** No key is empty, so none has this hash. */
const EMPTY_KEY_HASH = hashKey('');

/** Constant time, also without a hash to compare with. */
export const matchesKeyHash = (presented: string, keyHash: string | undefined): boolean =>
  timingSafeEqual(Buffer.from(presented), Buffer.from(keyHash ?? EMPTY_KEY_HASH)) && keyHash !== undefined;
