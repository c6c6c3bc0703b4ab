import { type Clock, nap } from '../../ports/clock.ts';
import type { Listener } from '../../ports/records.ts';

const FIRST_MS = 100;
const LONGEST_MS = 1000;

/** Nobody tells a function of a write elsewhere: whoever waits looks again, soon at first and then less often. */
export const pollingListener = (clock: Clock): Listener => {
  let pauseMs = FIRST_MS;
  return {
    heard: async (ms, signal) => {
      await nap(clock, Math.min(ms, pauseMs), signal).over;
      pauseMs = Math.min(pauseMs * 1.5, LONGEST_MS);
    },
    close: () => {},
  };
};
