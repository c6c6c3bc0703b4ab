import { setTimeout as pause } from 'node:timers/promises';
import { isPoll } from './bill.ts';
import type { Site } from './site.ts';

const PATIENCE_MS = 120_000;
const LOOK_MS = 25;
/** The last calls of a batch end within this time after its events. */
const STILL_MS = 400;

export const quiet = async ({ running }: Site, events: number): Promise<void> => {
  const { meter } = running.gateway;
  const until = Date.now() + PATIENCE_MS;
  let [calls, since] = [0, Date.now()];
  for (;;) {
    const counts = meter.read().calls.filter((call) => !isPoll(call));
    const announced = counts.reduce((sum, { service, billed }) => sum + (service === 'events' ? billed : 0), 0);
    const now = counts.reduce((sum, count) => sum + count.calls, 0);
    if (now !== calls) [calls, since] = [now, Date.now()];
    if (announced >= events && Date.now() - since >= STILL_MS) return;
    if (Date.now() > until) throw new Error(`only ${announced} of ${events} events were announced within two minutes`);
    await pause(LOOK_MS);
  }
};
