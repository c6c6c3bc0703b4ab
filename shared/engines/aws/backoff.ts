import { ParleyError } from '../../kernel/errors.ts';
import { type Clock, sleep } from '../../ports/clock.ts';

const FIRST_DELAY_MS = 25;
const MAX_DELAY_MS = 1000;
const MAX_ATTEMPTS = 6;

export const waitBeforeRetry = async (clock: Clock, attempt: number, service: string): Promise<void> => {
  if (attempt > MAX_ATTEMPTS) {
    throw new ParleyError('storage_unavailable', `${service} is too busy at the moment. Try again.`, {
      retryable: true,
    });
  }
  const most = Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS);
  await sleep(clock, most * (0.5 + Math.random() / 2)).done;
};

/** A single element may exceed the byte limit. */
export const splitIntoChunks = <T>(
  all: readonly T[],
  most: number,
  mostBytes = Infinity,
  bytesOf: (one: T) => number = () => 0,
): T[][] => {
  const chunks: T[][] = [];
  let bytes = 0;
  for (const one of all) {
    const size = bytesOf(one);
    const last = chunks.at(-1);
    if (last && last.length < most && bytes + size <= mostBytes) {
      last.push(one);
      bytes += size;
    } else {
      chunks.push([one]);
      bytes = size;
    }
  }
  return chunks;
};
