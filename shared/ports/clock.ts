import { ParleyError } from '../kernel/errors.ts';

/** Time, so that tests can own it. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `ring` once, at or after `at`; before it where the clock is set back meanwhile. Returns what cancels it. */
  setAlarm(at: number, ring: () => void): () => void;
}

/**
 * No timer runs longer than this. A timer counts the time in which the machine runs, while due times are times of day: when the
 * clock is set, or the machine was suspended, an alarm rings late by so much at the most. All that are further away share one timer.
 */
const MAX_TIMER_MS = 2000;

/** One for a later time. */
interface Alarm {
  at: number;
  /** As `performance.now()` counts, which no setting of the clock changes: it rings then at the latest. */
  latestAt: number;
  fire: () => void;
  timer?: NodeJS.Timeout;
}

const distantAlarms = new Set<Alarm>();
let distantTimer: NodeJS.Timeout | undefined;

const computeDelay = ({ at, latestAt }: Alarm): number =>
  Math.max(0, Math.min(at - Date.now(), latestAt - performance.now()));

const scheduleAlarm = (alarm: Alarm): void => {
  const ms = computeDelay(alarm);
  if (ms <= MAX_TIMER_MS) {
    distantAlarms.delete(alarm);
    alarm.timer = setTimeout(alarm.fire, ms);
    return;
  }
  distantAlarms.add(alarm);
  distantTimer ??= setTimeout(recheckDistant, MAX_TIMER_MS);
};

const recheckDistant = (): void => {
  distantTimer = undefined;
  for (const alarm of [...distantAlarms]) scheduleAlarm(alarm);
};

const cancelAlarm = (alarm: Alarm): void => {
  clearTimeout(alarm.timer);
  distantAlarms.delete(alarm);
  if (distantAlarms.size > 0) return;
  clearTimeout(distantTimer);
  distantTimer = undefined;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  setAlarm: (at, ring) => {
    const alarm: Alarm = { at, latestAt: performance.now() + (at - Date.now()), fire: ring };
    scheduleAlarm(alarm);
    return () => cancelAlarm(alarm);
  },
};

/**
 * A wait that ends after `ms`, when the signal fires, or when somebody ends it. Where the signal fires with a refusal, the wait throws
 * it, so that whoever waited neither looks again nor takes anything.
 */
export interface CancellableDelay {
  done: Promise<void>;
  endEarly: () => void;
}

export const sleep = (clock: Clock, ms: number, signal?: AbortSignal): CancellableDelay => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = (): void => {
    cancel();
    signal?.removeEventListener('abort', end);
    if (signal?.reason instanceof ParleyError) reject(signal.reason);
    else resolve();
  };
  const cancel = clock.setAlarm(clock.now() + ms, end);
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end);
  return { done: promise, endEarly: end };
};
