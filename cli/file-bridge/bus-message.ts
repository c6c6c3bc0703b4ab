import type { JsonObject } from '../../sdk/typescript/src/index.ts';

/** Scripts of the bus find `timestamp` and `sequence` by the first line that has them, so these stand before the payload. */
const FIRST_FIELDS = ['version', 'msg_id', 'from', 'to', 'timestamp', 'sequence', 'type', 'correlation_id', 'priority'];

export const formatMessage = (message: JsonObject): string => {
  const first = FIRST_FIELDS.flatMap((field) => (message[field] === undefined ? [] : [[field, message[field]]]));
  return `${JSON.stringify({ ...Object.fromEntries(first), ...message }, null, 2)}\n`;
};

export const parseMessage = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
};

export const getText = (message: JsonObject, field: string): string => {
  const value = message[field];
  return typeof value === 'string' ? value : '';
};

/** By what the bus tells messages apart. */
export const isSameMessage = (one: JsonObject, other: JsonObject): boolean =>
  ['from', 'msg_id', 'timestamp', 'sequence'].every((field) => one[field] === other[field]);
