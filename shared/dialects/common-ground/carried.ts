import { PUBLIC } from '../../agents/channels.ts';
import { isObject, type JsonObject } from '../../json/json.ts';

/** What a message of this protocol left with a task: it is given back as it was. */
export interface Carried {
  subject?: string;
  headers?: JsonObject;
  channel: string;
  depth: number;
}

export const carriedIn = (carried: JsonObject): Carried => {
  const { subject, headers, channel, depth } = isObject(carried.commonGround) ? carried.commonGround : {};
  return {
    subject: typeof subject === 'string' ? subject : undefined,
    headers: isHeaders(headers) ? headers : undefined,
    channel: typeof channel === 'string' ? channel : PUBLIC,
    depth: typeof depth === 'number' ? depth : 0,
  };
};

const isHeaders = (value: unknown): value is JsonObject => isObject(value);

/** What was said of a task in this protocol alone, for the readers of others. */
export const carriedAs = (said: JsonObject): JsonObject => ({ commonGround: said });
