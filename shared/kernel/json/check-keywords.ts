import { isObject } from './json.ts';

export type SchemaKeywords = Readonly<Record<string, unknown>>;

export interface KeywordIssue {
  path: PropertyKey[];
  message: string;
}

export const toKeywordIssue = (message: string, ...at: PropertyKey[]): KeywordIssue => ({ path: at, message });

export const isJsonType = (type: unknown, value: unknown): boolean => {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
};

export const checkNumber = (schema: SchemaKeywords, value: number): KeywordIssue | undefined => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) return toKeywordIssue(`must be at least ${minimum}`);
  if (typeof maximum === 'number' && value > maximum) return toKeywordIssue(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return toKeywordIssue(`must be more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    return toKeywordIssue(`must be less than ${exclusiveMaximum}`);
  if (typeof multipleOf === 'number' && !isMultipleWithin(value, multipleOf))
    return toKeywordIssue(`must be a multiple of ${multipleOf}`);
  return undefined;
};

/** With a tolerance: 0.3 is not a multiple of 0.1 in binary. */
const isMultipleWithin = (value: number, of: number): boolean => {
  const times = value / of;
  return Math.abs(times - Math.round(times)) <= Number.EPSILON * Math.max(1, Math.abs(times));
};

export const checkString = (schema: SchemaKeywords, value: string): KeywordIssue | undefined => {
  const { minLength, maxLength, format } = schema;
  if (minLength !== undefined || maxLength !== undefined) {
    const wrong = checkSize(schema, 'Length', countCharacters(value));
    if (wrong) return wrong;
  }
  return typeof format === 'string' && !matchesFormat(format, value)
    ? toKeywordIssue(`must be a ${format.slice(0, 64)}`)
    : undefined;
};

/** JSON Schema counts code points, not UTF-16 units. */
const countCharacters = (text: string): number => {
  let length = 0;
  for (const _ of text) length++;
  return length;
};

const UNITS = { Items: ' items', Properties: ' fields', Length: ' characters' };

export const checkSize = (schema: SchemaKeywords, of: keyof typeof UNITS, size: number): KeywordIssue | undefined => {
  const [least, most] = [schema[`min${of}`], schema[`max${of}`]];
  if (typeof least === 'number' && size < least) return toKeywordIssue(`must have at least ${least}${UNITS[of]}`);
  if (typeof most === 'number' && size > most) return toKeywordIssue(`must have at most ${most}${UNITS[of]}`);
  return undefined;
};

const MAX_LENGTH = 2048;

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const EMAIL = /^[^\s@"]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/i;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const IPV6_CHARACTERS = /^[0-9a-f:.]{2,45}$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const isDate = (text: string): boolean => DATE.test(text) && new Date(text).toISOString().startsWith(text);

/** All patterns run in linear time. */
const FORMAT_PREDICATES: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => isDate(text.slice(0, 10)) && /^[Tt ]$/.test(text[10] ?? '') && TIME.test(text.slice(11)),
  date: isDate,
  time: (text) => TIME.test(text),
  email: (text) => EMAIL.test(text),
  ipv4: (text) => IPV4.test(text),
  ipv6: (text) => IPV6_CHARACTERS.test(text) && URL.canParse(`http://[${text}]`),
  uri: (text) => URL.canParse(text),
  uuid: (text) => UUID.test(text),
};

/** JSON Schema: unknown formats are ignored. */
const matchesFormat = (format: string, text: string): boolean => {
  const isRight = Object.hasOwn(FORMAT_PREDICATES, format) ? FORMAT_PREDICATES[format] : undefined;
  return isRight === undefined || (text.length <= MAX_LENGTH && isRight(text));
};
