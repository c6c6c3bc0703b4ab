import { RecentMap } from '../../kernel/recent-map.ts';
import { hashKey, parseKeyOwner } from './keys.ts';

/** A key as a caller sent it. */
export interface PresentedKey {
  header: string;
  project: string;
  owner: string;
  keyHash: string;
}

const MAX_VALID_KEYS = 1000;
/** By header, as callers repeat theirs: to parse and hash one takes 1 µs. Only valid ones, so that strangers displace none. */
const validKeys = new RecentMap<string, PresentedKey>(MAX_VALID_KEYS);

/** `malformed` is no key of anybody: its checksum is wrong. */
export const parsePresentedKey = (header = ''): PresentedKey | 'malformed' | undefined => {
  const known = validKeys.get(header);
  if (known) return known;
  const key = /^Bearer +(\S+)$/i.exec(header)?.[1];
  if (key === undefined) return undefined;
  const owned = parseKeyOwner(key);
  return owned ? { header, ...owned, keyHash: hashKey(key) } : 'malformed';
};

export const rememberValidKey = (key: PresentedKey): void => {
  if (validKeys.get(key.header) !== key) validKeys.set(key.header, key);
};
