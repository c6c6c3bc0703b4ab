import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_MS = 250;
const LONGEST_MS = 60_000;

/** How long to wait before the next of several attempts in vain: half a second, then twice as long each time, a minute at most. */
export const growingMs = (attempts: number): number => Math.min(FIRST_MS * 2 ** attempts, LONGEST_MS);

/** Ends early, and without a complaint, when the signal fires. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => {});

/** Whether it comes to a good end in time. */
export const within = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true).catch(() => false), sleep(ms, false, { ref: false })]);

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
