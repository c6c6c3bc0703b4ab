import type { ParleyEvent } from '../ports/events.ts';
import type { Outgoing } from '../ports/queues.ts';
import { NatsMessage } from './nats-message.ts';
import { relayedAsIs } from './relayed.ts';

/** An event that is a whole message of its protocol, with the subject that everybody on NATS may listen to. */
export const relayedEvent = ({ id, project, at, data }: ParleyEvent): Outgoing | undefined => {
  if (typeof data.subject !== 'string') return undefined;
  const { subject, payload } = data;
  const message = NatsMessage.parse({ subject, payload, headers: textsIn(data.headers), id });
  return relayedAsIs({ project, priority: 'normal', group: subject, at }, message);
};

/** What is absent is left out, and the rest are texts. */
const textsIn = (headers: unknown): unknown => JSON.parse(JSON.stringify(headers ?? {}));
