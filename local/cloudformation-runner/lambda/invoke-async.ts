import { setTimeout as pause } from 'node:timers/promises';
import type { LambdaFunction } from './lambda-function.ts';

/** Lambda waits one minute before the first retry of an asynchronous event, and two before the second. */
const RETRY_AFTER_MS = [60_000, 120_000] as const;

/** Invokes for a service that does not wait for the answer; whether it succeeded in the end. */
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
