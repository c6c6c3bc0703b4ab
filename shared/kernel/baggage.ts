import type { JsonObject } from './json/json.ts';

/** W3C Baggage: the minimum that every participant must propagate. */
const MAX_MEMBERS = 64;
const MAX_BYTES = 8192;

const KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** W3C Baggage: printable ASCII without space, quote, comma, semicolon, backslash. */
const VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

/** Keeps the valid members that fit, with their properties. */
export const parseBaggage = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : joinWithinLimits(header.split(',').flatMap((member) => parseMember(member) ?? []));

const parseMember = (text: string): string | undefined => {
  const [pair = '', ...properties] = text.split(';').map((part) => part.trim());
  const member = parsePair(pair, true);
  if (member === undefined) return undefined;
  return [member, ...properties.flatMap((property) => parsePair(property, false) ?? [])].join(';');
};

const parsePair = (text: string, needsValue: boolean): string | undefined => {
  const at = text.indexOf('=');
  if (at < 0) return needsValue || !KEY.test(text) ? undefined : text;
  const [key, value] = [text.slice(0, at).trimEnd(), text.slice(at + 1).trimStart()];
  return KEY.test(key) && VALUE.test(value) ? `${key}=${value}` : undefined;
};

const joinWithinLimits = (members: string[]): string | undefined => {
  const kept: string[] = [];
  let bytes = -1;
  for (const member of members) {
    if (kept.length === MAX_MEMBERS) break;
    if (bytes + 1 + member.length > MAX_BYTES) continue;
    bytes += 1 + member.length;
    kept.push(member);
  }
  return kept.length === 0 ? undefined : kept.join(',');
};

/** Non-string values become JSON. Names that no header can carry are left out. */
export const encodeBaggage = (members: JsonObject): string | undefined =>
  joinWithinLimits(
    Object.entries(members).flatMap(([key, value]) =>
      KEY.test(key) && value !== undefined
        ? `${key}=${encodeURIComponent(typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value))}`
        : [],
    ),
  );

/** Without properties. */
export const decodeBaggage = (baggage: string | undefined): Record<string, string> | undefined => {
  if (baggage === undefined) return undefined;
  const members = baggage.split(',').map((member): [string, string] => {
    const [pair = ''] = member.split(';');
    const at = pair.indexOf('=');
    return [pair.slice(0, at), decodeValue(pair.slice(at + 1))];
  });
  return Object.fromEntries(members);
};

/** Invalid percent-encoding stays as it is. */
const decodeValue = (value: string): string => {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
};

export const isLosslessBaggage = (baggage: string | undefined, members: JsonObject): boolean => {
  const decoded = decodeBaggage(baggage) ?? {};
  const entries = Object.entries(members);
  return entries.length === Object.keys(decoded).length && entries.every(([key, value]) => decoded[key] === value);
};
