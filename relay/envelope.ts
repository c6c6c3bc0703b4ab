import type { MsgHdrs } from '@nats-io/transport-node';
import type { NatsEnvelope } from '../shared/nats/nats-message.ts';

export interface IngressMessage {
  text: string;
  envelope: NatsEnvelope;
}

export const toIngressMessage = (message: {
  subject: string;
  data: Uint8Array;
  headers?: MsgHdrs | undefined;
  /** Core NATS has no timestamp. */
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

const decodeJsonObject = (data: Uint8Array): string | undefined => {
  try {
    const text = decoder.decode(data);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text : undefined;
  } catch {
    return undefined;
  }
};

/** Keeps the case: NATS readers distinguish `CG-Sender` from `cg-sender`. */
const toHeaderRecord = (given: MsgHdrs | undefined): Record<string, string> => {
  const found: Record<string, string> = {};
  for (const name of given?.keys() ?? []) {
    if (!name.toLowerCase().startsWith('nats-')) found[name] = given?.get(name) ?? '';
  }
  return found;
};
