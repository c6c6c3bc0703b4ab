import { hash, randomFillSync } from 'node:crypto';

/** Random bytes are fetched for many at once: each time costs more than the bytes. */
const pool = Buffer.alloc(65_536);
let used = pool.length;

export const randomText = (bytes: number, encoding: 'hex' | 'base64url'): string => {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString(encoding, used - bytes, used);
};

/** 96 random bits: names a write or a file. It stands in every record, and records are billed by their size. */
export const newId = (): string => randomText(12, 'base64url');

/** An id that its sender makes. It stands in addresses, where `.` and `..` mean something else, however they are written. */
export const GIVEN_ID = /^(?!\.\.?$)[ -~]{1,128}$/;
export const GIVEN_ID_RULE = 'must be 1 to 128 printable characters, and not . or .. alone, which no address can name';

const UUID = /^(?:msg-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** A UUID is the same in upper and lower case, and behind the `msg-` that some put before it; any other id is what it is. */
export const canonicalId = (id: string): string => UUID.exec(id)?.[1]?.toLowerCase() ?? id;

/** The id where only UUIDs can be said: itself, or one that is always made of it. */
export const asUuid = (id: string): string => (UUID.test(id) ? id : idFrom(`alias#${id}`));

/** The id where no blanks can be said. */
export const withoutBlanks = (id: string): string => (id.includes(' ') ? asUuid(id) : id);

/** A UUID with the shape of version 4 that is always the same for the same seed. It may have to begin with 8 given digits. */
export const idFrom = (seed: string, head?: string): string => {
  const hex = hash('sha256', seed, 'hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  const rest = `${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return `${head ?? hex.slice(0, 8)}-${rest}`;
};

/** Eight digits are unique for a sender and a day at most: with the sender and the time they are an id. */
export const idOfShort = (from: string, short: string, at: number): string =>
  idFrom(`${from}#${short}#${at}`, short.slice('msg_'.length));

export const SHORT_ID = /^msg_[a-f0-9]{8}$/;

/** What an id is called where there is no room for it: by the digits that it begins with as a UUID. */
export const shortId = (id: string): string => `msg_${canonicalId(asUuid(id)).slice(0, 8)}`;
