import type { StartRate } from '../identity/limit-rules.ts';
import type { Limit, LimitPlace, StartCount } from './limit.ts';
import { isAssigned, type Task } from './task.ts';

export const isPlaceHeld = ({ attempt }: LimitPlace, task: Task | undefined): boolean =>
  task !== undefined && task.attempt === attempt && isAssigned(task);

/** A place that its parent lends counts as that of the parent. */
export const countPlaces = (places: readonly LimitPlace[]): number => {
  const tasks = new Set(places.map(({ task }) => task));
  return places.filter(({ under }) => under === undefined || !tasks.has(under)).length;
};

export const isLent = (places: readonly LimitPlace[], task: string): boolean =>
  places.some(({ under }) => under === task);

const COUNTS_PER_WINDOW = 32;

const toWindowMs = ({ seconds }: StartRate): number => seconds * 1000;

const countStarts = (starts: readonly StartCount[], rate: StartRate, now: number): number =>
  starts.reduce((sum, [until, count]) => (until > now - toWindowMs(rate) ? sum + count : sum), 0);

/** Undefined if a task may start now. */
export const findNextStartAt = (
  { starts = [] }: Pick<Limit, 'starts'>,
  rate: StartRate,
  now: number,
): number | undefined => {
  let left = countStarts(starts, rate, now) - rate.starts;
  if (left < 0) return undefined;
  const windowMs = toWindowMs(rate);
  for (const [until, count] of starts.toSorted(([a], [b]) => a - b)) {
    if (until <= now - windowMs) continue;
    left -= count;
    if (left < 0) return until + windowMs;
  }
  return now + windowMs;
};

/** Only a longer rate than the present one counts them: without this, a second's rate after a day's would keep millions. */
const joinCounts = (starts: readonly StartCount[], step: number): StartCount[] =>
  [...Map.groupBy(starts, ([end]) => Math.floor(end / step)).values()].map((joined) => [
    Math.max(...joined.map(([end]) => end)),
    joined.reduce((sum, [, count]) => sum + count, 0),
  ]);

export const addStart = (
  { starts = [], windowMs = 0 }: Pick<Limit, 'starts' | 'windowMs'>,
  rate: StartRate,
  now: number,
): Required<Pick<Limit, 'starts' | 'windowMs'>> => {
  const step = Math.max(1, Math.floor(toWindowMs(rate) / COUNTS_PER_WINDOW));
  const until = Math.ceil(now / step) * step;
  const longest = Math.max(windowMs, toWindowMs(rate));
  const kept = [
    ...starts.filter(([end]) => end > now - toWindowMs(rate)),
    ...joinCounts(
      starts.filter(([end]) => end > now - longest && end <= now - toWindowMs(rate)),
      Math.ceil(longest / COUNTS_PER_WINDOW),
    ),
  ];
  const same = kept.find(([end]) => end === until);
  const others = kept.filter((entry) => entry !== same);
  return { starts: [...others, [until, (same?.[1] ?? 0) + 1]], windowMs: longest };
};
