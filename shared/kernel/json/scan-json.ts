/** Deeper than any message in the protocols, and far from the depth at which JSON.stringify overflows the stack. */
export const MAX_DEPTH = 64;

/** More than any message has; what checks each field of an object would hold up everybody else meanwhile. */
export const MAX_FIELDS = 10_000;

/** As many as 1 MiB can hold, which is what an input may have: the shortest value is a digit and its comma. */
export const MAX_VALUES = 512 * 1024;

/** Integers of so many digits are exact, whatever the digits. */
const MAX_EXACT_DIGITS = 15;

/** So far the end of a text is looked for byte by byte; a call that searches costs as much. */
const INLINE_SCAN_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export interface JsonScan {
  problem?: 'depth' | 'values';
  /** Whether there may be something in it that only a look at each value finds. */
  needsInspection: boolean;
}

/** Looks over the bytes of a JSON text, which need not be right, before anything is made of them. */
export const scanJson = (bytes: Uint8Array): JsonScan => {
  const fields = new Int32Array(MAX_DEPTH + 1);
  let depth = 0;
  let values = 1;
  let digits = 0;
  let isSuspect = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    switch (byte) {
      case QUOTE:
        at = findStringEnd(bytes, at + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > MAX_DEPTH) return { problem: 'depth', needsInspection: isSuspect };
        if (++values > MAX_VALUES) return { problem: 'values', needsInspection: isSuspect };
        fields[depth] = 0;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (depth > 0) depth--;
        digits = 0;
        break;
      case 0x2c: // ,
        if (++values > MAX_VALUES) return { problem: 'values', needsInspection: isSuspect };
        digits = 0;
        break;
      case 0x3a: // :
        fields[depth] = (fields[depth] ?? 0) + 1;
        if (Number(fields[depth]) > MAX_FIELDS) isSuspect = true;
        break;
      case 0x2e: // .
        while (isDigit(bytes[at + 1])) at++;
        break;
      case 0x45: // E
      case 0x65: // e, also of true and false
        if (digits > 0) isSuspect = true;
        break;
      default:
        if (isDigit(byte) && ++digits > MAX_EXACT_DIGITS) isSuspect = true;
    }
  }
  return { needsInspection: isSuspect || hasEscapesOrProto(bytes) };
};

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Escapes may be halves of surrogate pairs, or spell what is forbidden in another way. */
const hasEscapesOrProto = (bytes: Uint8Array): boolean => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.includes('\\u') || buffer.includes('__proto__');
};

/** The place of the quote that ends a text, or the end of all. */
const findStringEnd = (bytes: Uint8Array, from: number): number => {
  const end = bytes.length;
  let at = from;
  while (at < end) {
    let near = Math.min(at + INLINE_SCAN_BYTES, end);
    for (; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      // Where one is escaped, others are likely to be.
      if (byte === BACKSLASH) near = Math.min(++at + INLINE_SCAN_BYTES, end);
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) return end;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--;
    if ((quote - escapes) % 2 === 0) return quote;
    at = quote + 1;
  }
  return end;
};
