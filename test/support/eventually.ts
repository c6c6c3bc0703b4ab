import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 10_000;
/** Soon at first, for what is there in a moment; then ever more seldom: each question takes CPU from what is waited for. */
const PAUSE_MS = { first: 2, growth: 1.5, most: 50 };

/** Asks again and again until the answer is there; what it last threw explains why it never was. */
export const eventually = async <T>(ask: () => Promise<T> | T, patienceMs = PATIENCE_MS): Promise<T> => {
  const until = Date.now() + patienceMs;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * PAUSE_MS.growth, PAUSE_MS.most)) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > until) throw error;
      await pause(pauseMs);
    }
  }
};
