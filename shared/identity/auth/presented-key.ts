import { RecentMap } from '../../kernel/recent-map.ts';
import { hashKey, matchesKeyHash, parseKeyOwner } from './keys.ts';

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

export const parsePresentedKey = (header = ''): PresentedKey | undefined => {
  const known = validKeys.get(header);
  if (known) return known;
  const key = /^Bearer +(\S+)$/i.exec(header)?.[1];
  return key === undefined ? undefined : { header, ...parseKeyOwner(key), keyHash: hashKey(key) };
};

/** A key that was valid needs no constant time: its sender knows it. */
export const isValidKey = (key: PresentedKey, keyHash: string | undefined): boolean => {
  if (validKeys.get(key.header) === key) return key.keyHash === keyHash;
  if (!matchesKeyHash(key.keyHash, keyHash)) return false;
  validKeys.set(key.header, key);
  return true;
};
