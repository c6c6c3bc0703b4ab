import type { Clock } from '../ports/clock.ts';
import type { Records, Watcher } from '../ports/records.ts';

interface WaitOptions {
  waitMs: number;
  /** Ends the wait early. */
  signal?: AbortSignal | undefined;
}

/** Reads after every write under one of the keys, until `isReady` or the end of the wait. The last read is the result. */
export const waitUntil = async <T>(
  { records, clock }: { records: Records; clock: Clock },
  pks: string[],
  { waitMs, signal }: WaitOptions,
  read: () => Promise<T>,
  isReady: (found: T) => boolean,
): Promise<T> => {
  const until = clock.now() + waitMs;
  // Before the first read: no write is missed.
  const watchers = waitMs > 0 ? pks.map((pk) => records.watch(pk)) : [];
  try {
    for (;;) {
      const found = await read();
      const left = until - clock.now();
      if (isReady(found) || left <= 0 || signal?.aborted) return found;
      await waitForAnyChange(watchers, left, signal);
    }
  } finally {
    for (const watcher of watchers) watcher.close();
  }
};

/** The first change ends the other waits. */
export const waitForAnyChange = async (
  watchers: Watcher[],
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const [only] = watchers;
  if (only && watchers.length === 1) return await only.next(ms, signal);
  const over = new AbortController();
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  try {
    await Promise.race(watchers.map((one) => one.next(ms, either)));
  } finally {
    over.abort();
  }
};
