import type { ParleyEvent } from '../ports/events.ts';
import type { QueueMessage } from '../ports/queues.ts';
import { NatsMessage } from './nats-message.ts';
import { buildPublishRelay } from './relay-item.ts';

/** An event that is a whole message of its protocol, with the subject that everybody on NATS may listen to. */
export const toRelayEventMessage = ({ id, project, at, data }: ParleyEvent): QueueMessage | undefined => {
  if (typeof data.subject !== 'string') return undefined;
  const { subject, payload } = data;
  const message = NatsMessage.parse({ subject, payload, headers: toHeaderStrings(data.headers), id });
  return buildPublishRelay({ project, priority: 'normal', group: subject, at }, message);
};

/** What is absent is left out, and the rest are texts. */
const toHeaderStrings = (headers: unknown): unknown => JSON.parse(JSON.stringify(headers ?? {}));
