import { hash, randomFillSync } from 'node:crypto';

/** Random bytes are fetched for many at once: each time costs more than the bytes. */
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

/** 96 random bits: names a write or a file. It stands in every record, and records are billed by their size. */
export const generateId = (): string => generateRandomText(12, 'base64url');

/** An id that its sender makes. It stands in addresses, where `.` and `..` mean something else, however they are written. */
export const CLIENT_ID = /^(?!\.\.?$)[ -~]{1,128}$/;
export const CLIENT_ID_RULE = 'must be 1 to 128 printable characters, and not . or .. alone, which no address can name';

const UUID = /^(?:msg-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** A UUID is the same in upper and lower case, and behind the `msg-` that some put before it; any other id is what it is. */
export const toCanonicalId = (id: string): string => UUID.exec(id)?.[1]?.toLowerCase() ?? id;

/** The id where only UUIDs can be said: itself, or one that is always made of it. */
export const toUuid = (id: string): string => (UUID.test(id) ? id : uuidFromSeed(['alias', id]));

/** The id where no blanks can be said. */
export const toIdWithoutBlanks = (id: string): string => (id.includes(' ') ? toUuid(id) : id);

/** 48 bits: a random UUID looks derived once in 281 million million. */
const CHECK_DIGITS = 12;

/**
 * Whose first digits are given has 42 bits of its own, which can be searched for: it is sealed otherwise, so that it never is an id
 * that was made for something else.
 */
type Seal = 'parley' | 'parley/given';

const computeCheckDigits = (name: string, seal: Seal): string =>
  hash('sha256', `${seal}/${name}`, 'hex').slice(0, CHECK_DIGITS);

/**
 * A UUID with the shape of version 4 that is always the same for the same parts, of which the first says what it is for. It may have
 * to begin with 8 given digits. Its last 12 digits follow from the others, and no sender may use an id for which that holds: anybody
 * can compute it, and nobody can take it.
 */
export const uuidFromSeed = (parts: readonly [string, ...(string | number)[]], head?: string): string => {
  const hex = hash('sha256', JSON.stringify(parts), 'hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  const name = `${head ?? hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}`;
  return `${name}-${computeCheckDigits(name, head === undefined ? 'parley' : 'parley/given')}`;
};

/** Whether an id is one that only Parley makes. */
export const isDerivedId = (id: string): boolean => {
  const uuid = toCanonicalId(id);
  if (!UUID.test(uuid)) return false;
  const [name, seal] = [uuid.slice(0, -CHECK_DIGITS - 1), uuid.slice(-CHECK_DIGITS)];
  return seal === computeCheckDigits(name, 'parley') || seal === computeCheckDigits(name, 'parley/given');
};

/** Eight digits are unique for a sender and a day at most: with the sender and the time they are an id. */
export const expandShortId = (from: string, short: string, at: number): string =>
  uuidFromSeed(['short', from, short, at], short.slice('msg_'.length));

export const SHORT_ID = /^msg_[a-f0-9]{8}$/;

/** What an id is called where there is no room for it: by the digits that it begins with as a UUID. */
export const toShortId = (id: string): string => `msg_${toCanonicalId(toUuid(id)).slice(0, 8)}`;
