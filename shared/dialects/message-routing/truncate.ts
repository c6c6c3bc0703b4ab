import { isObject, type JsonObject } from '../../kernel/json/json.ts';
import { MAX_TRANSLATED_BYTES } from './schema.ts';

/** Enough to know by what a message is about. */
const MAX_TEXT_LENGTH = 500;

/** What was translated and is too large for a message here is only referred to: it can be read at the address. */
export const truncateMessage = (message: JsonObject, address: string): JsonObject => {
  const bytes = Buffer.byteLength(JSON.stringify(message));
  if (bytes <= MAX_TRANSLATED_BYTES) return message;
  const payload = isObject(message.payload) ? message.payload : {};
  const short = Object.entries(payload).map(([name, value]) => [name, truncateValue(value)]);
  return { ...message, payload: { ...Object.fromEntries(short), parley: { reference: address, bytes } } };
};

const truncateValue = (value: unknown): unknown => {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_LENGTH);
  return Array.isArray(value) ? value.slice(0, 1).map(truncateValue) : value;
};
