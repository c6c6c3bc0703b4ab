import { ParleyError } from '../kernel/errors.ts';

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `fire` once, at or after `at`; earlier if the clock is set back meanwhile. Returns a cancel function. */
  setAlarm(at: number, fire: () => void): () => void;
}

/**
 * Node timers ignore clock changes and suspended time, while `due` is a time of day. So an alarm is at most this late.
 */
const MAX_TIMER_MS = 2000;

interface Alarm {
  at: number;
  /** On the scale of `performance.now()`, which ignores clock changes. */
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
  setAlarm: (at, fire) => {
    const alarm: Alarm = { at, latestAt: performance.now() + (at - Date.now()), fire };
    scheduleAlarm(alarm);
    return () => cancelAlarm(alarm);
  },
};

/** If the signal's reason is a ParleyError, the wait throws it. */
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

export function toIso(at: number): string;
export function toIso(at: number | undefined): string | undefined;
export function toIso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : formatIso(at);
}

/** Most times are of the same few seconds, and a Date takes ten times as long as a look at what is known of one. */
const MAX_KNOWN_SECONDS = 64;
const knownSeconds: { second: number; text: string }[] = [];

const formatIso = (at: number): string => {
  const second = Math.floor(at / 1000);
  const place = Math.abs(second % MAX_KNOWN_SECONDS);
  let known = knownSeconds[place];
  if (known?.second !== second) {
    known = { second, text: new Date(second * 1000).toISOString().slice(0, -'000Z'.length) };
    knownSeconds[place] = known;
  }
  return `${known.text}${String(1000 + Math.floor(at - second * 1000)).slice(1)}Z`;
};
