import { type Clock, sleep } from '../../ports/clock.ts';
import type { Watcher } from '../../ports/records.ts';

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1000;

/** A Lambda gets no notice of writes elsewhere. */
export const createPollingWatcher = (clock: Clock): Watcher => {
  let pauseMs = FIRST_POLL_MS;
  return {
    next: async (ms, signal) => {
      await sleep(clock, Math.min(ms, pauseMs), signal).done;
      pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS);
    },
    close: () => {},
  };
};
