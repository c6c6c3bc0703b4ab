import type { ConsumerMessages } from '@nats-io/jetstream';
import type { NatsClient } from './nats-client.ts';

/** The client's `stop` drops messages in flight, which then wait for the ack timeout. */
export const drainFetch = (messages: ConsumerMessages, { isConnected }: NatsClient): void => {
  if (isConnected && isDrainable(messages)) messages.sub.drain().catch(() => {});
  else messages.stop();
};

/** The client has this field, but its types do not declare it. */
interface DrainableMessages {
  sub: { drain(): Promise<void> };
}

const isDrainable = (messages: object): messages is DrainableMessages =>
  'sub' in messages && typeof messages.sub === 'object' && messages.sub !== null && 'drain' in messages.sub;
