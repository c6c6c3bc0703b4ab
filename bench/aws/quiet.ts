import { setTimeout as pause } from 'node:timers/promises';
import { isPoll } from './bill.ts';
import type { Site } from './site.ts';

const PATIENCE_MS = 120_000;
const LOOK_MS = 25;
/** The last calls of a batch end within this time after its events. */
const STILL_MS = 400;

/** Longer than the stream waits for more records. */
const STREAM_WINDOW_MS = 2500;

/** Until the bus has this many events and nothing happens; without a number, until what follows a call must be over. */
export const quiet = async ({ running }: Site, events?: number): Promise<void> => {
  const { meter } = running.gateway;
  const until = Date.now() + PATIENCE_MS;
  let [calls, since] = [0, Date.now()];
  for (;;) {
    const counts = meter.read().calls.filter((call) => !isPoll(call));
    const announced = counts.reduce((sum, { service, billed }) => sum + (service === 'events' ? billed : 0), 0);
    const now = counts.reduce((sum, count) => sum + count.calls, 0);
    if (now !== calls) [calls, since] = [now, Date.now()];
    const stillMs = events === undefined ? STREAM_WINDOW_MS : STILL_MS;
    if (announced >= (events ?? 0) && Date.now() - since >= stillMs) return;
    if (Date.now() > until) throw new Error(`only ${announced} of ${events} events were announced within two minutes`);
    await pause(LOOK_MS);
  }
};
