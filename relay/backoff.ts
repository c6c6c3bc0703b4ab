import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 60_000;

/** How long to wait before the next of several attempts in vain: half a second, then twice as long each time, a minute at most. */
export const computeBackoffMs = (attempts: number): number => Math.min(FIRST_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);

/** No timer runs longer: it does not count the time for which a machine was suspended, and what was away may be back by then. */
const MAX_SLEEP_MS = 5000;

/** The pause before the next of several attempts in vain. */
export const sleepWithBackoff = (attempts: number, signal: AbortSignal): Promise<void> =>
  sleepUntilAborted(Math.min(computeBackoffMs(attempts), MAX_SLEEP_MS), signal);

/** Ends early, and without a complaint, when the signal fires. */
export const sleepUntilAborted = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => {});

/** Whether it comes to a good end in time. */
export const isResolvedWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true).catch(() => false), sleep(ms, false, { ref: false })]);

export const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
