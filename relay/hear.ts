import type { Msg } from '@nats-io/transport-node';
import { type Arrived, arrivedIn } from './arrived.ts';
import { BROUGHT } from './site.ts';
import type { UpOptions } from './up.ts';

/** More than this that nobody has taken yet is dropped, as core NATS drops what nobody hears. */
const MOST_WAITING = 1000;

/** Brings what is said on core NATS to Parley. It is told once: whatever Parley does not take is lost. */
export const hear = (subject: string, { site, api, metrics, batchSize, signal }: UpOptions): void => {
  const waiting: Arrived[] = [];
  let isSending = false;
  const send = async (): Promise<void> => {
    isSending = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchSize);
      const [texts, arrivals] = [batch.map(({ text }) => text), batch.map(({ arrival }) => arrival)];
      const results = await api.send(texts, arrivals).catch(() => []);
      const taken = results.filter(({ status }) => status < 300).length;
      metrics.count('up', 'messages', taken);
      metrics.count('up', 'skipped', batch.length - taken);
    }
    isSending = false;
  };
  const take = (_: Error | null, message: Msg): void => {
    const arrived = message.headers?.has(BROUGHT) ? undefined : arrivedIn(message);
    if (!arrived || waiting.length >= MOST_WAITING) {
      metrics.count('up', 'skipped');
      return;
    }
    waiting.push(arrived);
    if (!isSending) setImmediate(send);
  };
  // One of the relays of a project hears each message.
  const heard = site.connection.subscribe(subject, { queue: `parley-${site.project}`, callback: take });
  signal.addEventListener('abort', () => heard.unsubscribe(), { once: true });
};
