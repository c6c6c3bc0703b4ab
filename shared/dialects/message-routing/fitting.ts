import { isObject, type JsonObject } from '../../json/json.ts';
import { MESSAGE_BYTES } from './schema.ts';

/** Enough to know by what a message is about. */
const LONGEST_TEXT = 500;

/** What was translated and is too large for a message here is only referred to: it can be read at the address. */
export const fitting = (message: JsonObject, address: string): JsonObject => {
  const bytes = Buffer.byteLength(JSON.stringify(message));
  if (bytes <= MESSAGE_BYTES) return message;
  const payload = isObject(message.payload) ? message.payload : {};
  const short = Object.entries(payload).map(([name, value]) => [name, shortened(value)]);
  return { ...message, payload: { ...Object.fromEntries(short), parley: { reference: address, bytes } } };
};

const shortened = (value: unknown): unknown => {
  if (typeof value === 'string') return value.slice(0, LONGEST_TEXT);
  return Array.isArray(value) ? value.slice(0, 1).map(shortened) : value;
};
