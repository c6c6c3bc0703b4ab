import type { MsgHdrs } from '@nats-io/transport-node';
import type { Arrival } from '../shared/relay/nats-message.ts';

/** A message as it goes to Parley. */
export interface Arrived {
  text: string;
  arrival: Arrival;
}

/** Undefined for what is no JSON object. */
export const arrivedIn = (message: {
  subject: string;
  data: Uint8Array;
  headers?: MsgHdrs | undefined;
}): Arrived | undefined => {
  const text = jsonObjectIn(message.data);
  return text === undefined
    ? undefined
    : { text, arrival: { subject: message.subject, headers: headersIn(message.headers) } };
};

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text where it is a JSON object: it becomes a part of a larger one as it is. */
const jsonObjectIn = (data: Uint8Array): string | undefined => {
  try {
    const text = decoder.decode(data);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text : undefined;
  } catch {
    return undefined;
  }
};

/** Names in lower case, as HTTP has them; JetStream's own say nothing about the message. */
const headersIn = (given: MsgHdrs | undefined): Record<string, string> => {
  const found: Record<string, string> = {};
  for (const name of given?.keys() ?? []) {
    const lower = name.toLowerCase();
    if (!lower.startsWith('nats-')) found[lower] = given?.get(name) ?? '';
  }
  return found;
};
