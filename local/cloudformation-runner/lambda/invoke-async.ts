import { setTimeout as pause } from 'node:timers/promises';
import type { LambdaFunction } from './lambda-function.ts';

/** Lambda retries an asynchronous event after one minute, then after two. */
const RETRY_AFTER_MS = [60_000, 120_000] as const;

export const invokeAsync = async (
  target: LambdaFunction,
  event: unknown,
  retries: number,
  signal: AbortSignal,
): Promise<boolean> => {
  for (let retry = 0; ; retry++) {
    const { ok } = await target.invoke(event);
    if (ok === true) return true;
    if (retry >= retries || signal.aborted) return false;
    try {
      await pause(RETRY_AFTER_MS[retry] ?? 0, undefined, { signal, ref: false });
    } catch {
      return false;
    }
  }
};
