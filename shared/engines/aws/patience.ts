import { ParleyError } from '../../errors.ts';
import { type Clock, nap } from '../../ports/clock.ts';

const FIRST_MS = 25;
const LONGEST_MS = 1000;
const MOST_ATTEMPTS = 6;

/** The pause before another attempt at what a batch left undone: longer each time, and never the same for all who wait. */
export const backOff = async (clock: Clock, attempt: number, service: string): Promise<void> => {
  if (attempt > MOST_ATTEMPTS) {
    throw new ParleyError('storage_unavailable', `${service} is too busy at the moment. Try again.`, {
      retry: 'later',
    });
  }
  const most = Math.min(FIRST_MS * 2 ** attempt, LONGEST_MS);
  await nap(clock, most * (0.5 + Math.random() / 2)).over;
};

export const inChunks = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size));
