/** Time, so that tests can own it. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `ring` once, at or after `at`. Returns what cancels it. */
  alarm(at: number, ring: () => void): () => void;
}

/** setTimeout takes a signed 32-bit number of milliseconds; a later alarm is set again when this has passed. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  alarm: (at, ring) => {
    let timer: NodeJS.Timeout;
    const set = (): void => {
      const ms = Math.max(0, at - Date.now());
      timer = ms > LONGEST_TIMEOUT_MS ? setTimeout(set, LONGEST_TIMEOUT_MS) : setTimeout(ring, ms);
    };
    set();
    return () => clearTimeout(timer);
  },
};

/** A wait that ends after `ms`, when the signal fires, or when somebody ends it. */
export interface Nap {
  over: Promise<void>;
  end: () => void;
}

export const nap = (clock: Clock, ms: number, signal?: AbortSignal): Nap => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => {
    cancel();
    signal?.removeEventListener('abort', end);
    resolve();
  };
  const cancel = clock.alarm(clock.now() + ms, end);
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end);
  return { over: promise, end };
};
