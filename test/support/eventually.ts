import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 10_000;

/** Asks again and again until the answer is there; what it last threw explains why it never was. */
export const eventually = async <T>(ask: () => Promise<T> | T, patienceMs = PATIENCE_MS): Promise<T> => {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > until) throw error;
      await pause(2);
    }
  }
};
