import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 60_000;

/** 500 ms, doubled with each failed attempt, at most a minute. */
export const computeBackoffMs = (attempts: number): number => Math.min(FIRST_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);

/** A Node timer does not count the time in which the machine was suspended, so no single sleep is longer. */
const MAX_SLEEP_MS = 5000;

export const sleepWithBackoff = (attempts: number, signal: AbortSignal): Promise<void> =>
  sleepUntilAborted(Math.min(computeBackoffMs(attempts), MAX_SLEEP_MS), signal);

export const sleepUntilAborted = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => {});

export const isResolvedWithin = (ms: number, work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true).catch(() => false), sleep(ms, false, { ref: false })]);

export const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
