import { setTimeout as pause } from 'node:timers/promises';
import type { LambdaFunction } from './lambda-function.ts';

export interface AsyncRetries {
  /** Of what fails. */
  most: number;
  /** A throttled event waits so long at the most, which spends no retry. */
  ageMs: number;
  firstPauseMs?: number;
}

/** Lambda retries an asynchronous event after one minute, then after two. */
const RETRY_AFTER_MS = [60_000, 120_000] as const;
const FIRST_THROTTLED_MS = 1000;
const LONGEST_THROTTLED_MS = 300_000;

export const invokeAsync = async (
  target: Pick<LambdaFunction, 'invoke'>,
  event: unknown,
  { most, ageMs, firstPauseMs = FIRST_THROTTLED_MS }: AsyncRetries,
  signal: AbortSignal,
): Promise<boolean> => {
  const until = Date.now() + ageMs;
  for (let failures = 0, throttledMs = firstPauseMs; ; ) {
    const { ok } = await target.invoke(event);
    if (ok === true) return true;
    const isThrottled = ok === 'throttled';
    if (signal.aborted || (!isThrottled && failures >= most) || Date.now() > until) return false;
    try {
      await pause(isThrottled ? throttledMs : RETRY_AFTER_MS[failures], undefined, { signal, ref: false });
    } catch {
      return false;
    }
    if (isThrottled) throttledMs = Math.min(LONGEST_THROTTLED_MS, throttledMs * 2);
    else failures += 1;
  }
};
