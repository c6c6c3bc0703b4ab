/** Deeper than any protocol message, far below the stack limit of JSON.stringify. */
export const MAX_DEPTH = 64;

/** More than any message has. Field checks of larger objects would block the process. */
export const MAX_FIELDS = 10_000;

/** The maximum in 1 MiB: the shortest value is a digit with its comma. */
export const MAX_VALUES = 512 * 1024;

/** Integers up to 15 digits are exact doubles. */
const MAX_EXACT_DIGITS = 15;

/** Up to 64 bytes, a loop is as fast as `indexOf`. */
const INLINE_SCAN_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export interface JsonScan {
  problem?: 'depth' | 'values';
  needsInspection: boolean;
}

/** Works on unparsed, possibly invalid bytes. */
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

/** Escapes may hide lone surrogates or forbidden keys. */
const hasEscapesOrProto = (bytes: Uint8Array): boolean => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.includes('\\u') || buffer.includes('__proto__');
};

const findStringEnd = (bytes: Uint8Array, from: number): number => {
  const end = bytes.length;
  let at = from;
  while (at < end) {
    let near = Math.min(at + INLINE_SCAN_BYTES, end);
    for (; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
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
