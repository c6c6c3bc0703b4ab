import { hash, randomFillSync } from 'node:crypto';
import { ParleyError } from './errors.ts';

/** One call for 64 KB: each call costs more than its bytes. */
const randomPool = Buffer.alloc(65_536);
let randomPoolUsed = randomPool.length;

export const generateRandomText = (bytes: number, encoding: 'hex' | 'base64url'): string => {
  if (randomPoolUsed + bytes > randomPool.length) {
    randomFillSync(randomPool);
    randomPoolUsed = 0;
  }
  randomPoolUsed += bytes;
  return randomPool.toString(encoding, randomPoolUsed - bytes, randomPoolUsed);
};

/** 96 random bits: each record stores one and is billed by size. */
export const generateId = (): string => generateRandomText(12, 'base64url');

/** Without `.`, `..` and slashes: URLs resolve the first two, and an HTTP API of AWS decodes `%2F` before it matches a route. */
export const CLIENT_ID = /^(?!\.\.?$)[^\p{C}\p{Zl}\p{Zp}/]{1,128}$/u;
export const CLIENT_ID_RULE =
  'must be 1 to 128 printable characters without a slash, and not . or .. alone, which no address can name';

const UUID = /^(?:msg-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

const CANONICAL_UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** UUIDs are case-insensitive and may have the prefix `msg-`. */
export const toCanonicalId = (id: string): string =>
  CANONICAL_UUID.test(id) ? id : (UUID.exec(id)?.[1]?.toLowerCase() ?? id);

export const isUuid = (id: string): boolean => UUID.test(id);

/** For dialects that know only UUIDs. */
export const toUuid = (id: string): string => (isUuid(id) ? id : uuidFromSeed(['alias', id]));

/** For CommonGround, whose ids are ASCII without blanks. */
export const toVisibleAsciiId = (id: string): string => (/^[!-~]+$/.test(id) ? id : toUuid(id));

/** 48 bits: a random UUID looks derived once in 2.8 × 10^14. */
const CHECK_DIGITS = 12;

/**
 * With given first digits only 42 bits remain, which can be searched. A separate seal keeps such ids apart from other
 * derived ids.
 */
type Seal = 'parley' | 'parley/given';

const computeCheckDigits = (name: string, seal: Seal): string =>
  hash('sha256', `${seal}/${name}`, 'hex').slice(0, CHECK_DIGITS);

/**
 * Deterministic, in the form of UUID version 4, optionally with 8 given first digits. The last 12 digits are a checksum
 * of the others. Senders may not use such ids, so no sender can take one in advance.
 */
export const uuidFromSeed = (parts: readonly [string, ...(string | number)[]], head?: string): string => {
  const hex = hash('sha256', JSON.stringify(parts), 'hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  const name = `${head ?? hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}`;
  return `${name}-${computeCheckDigits(name, head === undefined ? 'parley' : 'parley/given')}`;
};

export const isDerivedId = (id: string): boolean => {
  const uuid = toCanonicalId(id);
  if (!UUID.test(uuid)) return false;
  const [name, seal] = [uuid.slice(0, -CHECK_DIGITS - 1), uuid.slice(-CHECK_DIGITS)];
  return seal === computeCheckDigits(name, 'parley') || seal === computeCheckDigits(name, 'parley/given');
};

/** Eight digits are unique per sender and day at most, so sender and time are added. */
export const expandShortId = (from: string, short: string, at: number): string =>
  uuidFromSeed(['short', from, short, at], short.slice('msg_'.length));

export const SHORT_ID = /^msg_[a-f0-9]{8}$/;

export const toShortId = (id: string): string => `msg_${toCanonicalId(toUuid(id)).slice(0, 8)}`;

/** A turn may become a task under its own id, which its channel sees before the task exists. */
const TURN_ID_PREFIX = 'turn_';

/** Derived ids: with one of them a sender could impersonate another record. */
const isReservedId = (id: string): boolean => id.startsWith(TURN_ID_PREFIX) || isDerivedId(id);

export const assertNotReserved = (what: string, id: string): void => {
  if (!isReservedId(id)) return;
  throw new ParleyError(
    'id_reserved',
    `${what} cannot have the id ${id}: Parley alone makes such ids, from others. Take a random UUID.`,
    { details: { id } },
  );
};

/** Everybody, one user, or one thread. */
export const CHANNEL_ID = /^(?:public|[ut]_[A-Za-z0-9_-]{1,64})$/;

export const PUBLIC_CHANNEL = 'public';

export const SYSTEM_SENDER = 'parley';
