import type { Msg } from '@nats-io/transport-node';
import type { NatsEnvelope } from '../shared/nats/nats-message.ts';
import { type IngressMessage, toIngressMessage } from './envelope.ts';
import type { IngressOptions } from './ingress.ts';
import { RELAY_HEADER } from './nats-client.ts';
import type { MessageResponse } from './parley-api.ts';

const MAX_WAITING = 1000;
const REJECTION_LOG_INTERVAL_MS = 60_000;

/** Delivery is at most once: a message that Parley does not accept is lost, and one in a minute is logged. */
export const subscribeCore = (
  subject: string,
  { site, api, metrics, log, batchSize, signal }: IngressOptions,
): void => {
  const waiting: IngressMessage[] = [];
  let isSending = false;
  let logNextAt = 0;
  const logRejection = (envelope: NatsEnvelope | undefined, { status, body }: MessageResponse): void => {
    if (Date.now() < logNextAt) return;
    logNextAt = Date.now() + REJECTION_LOG_INTERVAL_MS;
    log('warn', 'core message rejected', { subject: envelope?.subject, status, code: body.code, detail: body.detail });
  };
  const send = async (): Promise<void> => {
    isSending = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize);
      const [texts, arrivals] = [batch.map(({ text }) => text), batch.map(({ envelope }) => envelope)];
      const results = await api.sendMessages(texts, arrivals).catch(() => []);
      const taken = results.filter(({ status }) => status < 300).length;
      for (const [at, result] of results.entries()) if (result.status >= 300) logRejection(arrivals[at], result);
      metrics.increment('ingress', 'messages', taken);
      metrics.increment('ingress', 'skipped', batch.length - taken);
    }
    isSending = false;
  };
  const take = (_: Error | null, message: Msg): void => {
    const arrived = message.headers?.has(RELAY_HEADER) ? undefined : toIngressMessage(message);
    if (!arrived || waiting.length >= MAX_WAITING) {
      metrics.increment('ingress', 'skipped');
      return;
    }
    waiting.push(arrived);
    if (!isSending) setImmediate(send);
  };
  // In a queue group, each message reaches one of the project's relays.
  const subscription = site.connection.subscribe(subject, { queue: `parley-${site.project}`, callback: take });
  signal.addEventListener('abort', () => subscription.unsubscribe(), { once: true });
};
