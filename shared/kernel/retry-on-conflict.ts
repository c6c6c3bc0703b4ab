import { setTimeout as pause } from 'node:timers/promises';
import { ParleyError } from './errors.ts';

interface ConflictRetries {
  attempts: number;
  /** Pauses grow from here and differ, so that writers do not meet again. Without it there are none. */
  pauseMs?: number;
  maxPauseMs?: number;
}

/** Repeats what other writes can come in the way of. `undefined` from `attempt` is a conflict. */
export const retryOnConflict = async <T>(
  what: string,
  { attempts, pauseMs = 0, maxPauseMs = 500 }: ConflictRetries,
  attempt: () => Promise<T | undefined>,
): Promise<T> => {
  for (let count = 1; count <= attempts; count++) {
    const done = await attempt();
    if (done !== undefined) return done;
    if (pauseMs > 0) await pause(Math.random() * Math.min(pauseMs * 2 ** count, maxPauseMs));
  }
  throw new ParleyError('conflict', `Too many writes to ${what} at once. Try again.`);
};
