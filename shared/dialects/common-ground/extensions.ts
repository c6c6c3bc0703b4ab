import { PUBLIC_CHANNEL } from '../../kernel/ids.ts';
import { isObject, type JsonObject } from '../../kernel/json/json.ts';

/** What a message of this protocol left with a task: it is given back as it was. */
export interface TaskExtensions {
  subject?: string;
  headers?: JsonObject;
  channel: string;
  depth: number;
  /** Absent for the version of the document. */
  protocolVersion?: string;
  /** It came in on its subject on NATS: whoever listens there has heard it. */
  isAlreadyPublished?: true;
  /** It does the work of a tool call, or of a turn, which tells itself how it ended. */
  turnRole?: 'call' | 'turn';
}

export const parseExtensions = (extensions: JsonObject): TaskExtensions => {
  const { subject, headers, channel, depth, protocolVersion, isAlreadyPublished, call, turn } = isObject(
    extensions.commonGround,
  )
    ? extensions.commonGround
    : {};
  return {
    subject: typeof subject === 'string' ? subject : undefined,
    headers: isHeadersObject(headers) ? headers : undefined,
    channel: typeof channel === 'string' ? channel : PUBLIC_CHANNEL,
    depth: typeof depth === 'number' ? depth : 0,
    protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : undefined,
    isAlreadyPublished: isAlreadyPublished === true ? true : undefined,
    turnRole: isObject(call) ? 'call' : typeof turn === 'string' ? 'turn' : undefined,
  };
};

const isHeadersObject = (value: unknown): value is JsonObject => isObject(value);

/** What was said of a task in this protocol alone, for the readers of others. */
export const toExtensions = (said: JsonObject): JsonObject => ({ commonGround: said });
