import type { ConsumerMessages } from '@nats-io/jetstream';
import type { NatsClient } from './nats-client.ts';

/**
 * Nothing more is asked for, and what is on its way still arrives. The client's own way to stop drops it, and nobody would have it
 * until its ack wait is over.
 */
export const drainFetch = (messages: ConsumerMessages, { isConnected }: NatsClient): void => {
  if (isConnected && isDrainable(messages)) messages.sub.drain().catch(() => {});
  else messages.stop();
};

/** The client has it so, and does not say so. */
interface DrainableMessages {
  sub: { drain(): Promise<void> };
}

const isDrainable = (messages: object): messages is DrainableMessages =>
  'sub' in messages && typeof messages.sub === 'object' && messages.sub !== null && 'drain' in messages.sub;
