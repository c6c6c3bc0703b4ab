import type { MsgHdrs } from '@nats-io/transport-node';
import type { NatsEnvelope } from '../shared/nats/nats-message.ts';

/** A message as it goes to Parley. */
export interface IngressMessage {
  text: string;
  envelope: NatsEnvelope;
}

/** Undefined for what is no JSON object. */
export const toIngressMessage = (message: {
  subject: string;
  data: Uint8Array;
  headers?: MsgHdrs | undefined;
  /** When its stream took it; core NATS keeps no time. */
  time?: Date;
}): IngressMessage | undefined => {
  const text = decodeJsonObject(message.data);
  if (text === undefined) return undefined;
  const arrival = {
    subject: message.subject,
    headers: toHeaderRecord(message.headers),
    publishedAt: message.time?.getTime(),
  };
  return { text, envelope: arrival };
};

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text where it is a JSON object: it becomes a part of a larger one as it is. */
const decodeJsonObject = (data: Uint8Array): string | undefined => {
  try {
    const text = decoder.decode(data);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text : undefined;
  } catch {
    return undefined;
  }
};

/** Names as they came: readers on NATS tell `CG-Sender` from `cg-sender`. JetStream's own say nothing about the message. */
const toHeaderRecord = (given: MsgHdrs | undefined): Record<string, string> => {
  const found: Record<string, string> = {};
  for (const name of given?.keys() ?? []) {
    if (!name.toLowerCase().startsWith('nats-')) found[name] = given?.get(name) ?? '';
  }
  return found;
};
