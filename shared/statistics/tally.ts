import { addToHistogram, type Histogram, mergeHistogram } from './histogram.ts';

/** Stored by position: append only. */
export const COUNT_NAMES = [
  'submitted',
  'queued',
  'claimed',
  'completed',
  'failed',
  'retried',
  'released',
  'expired',
  'cancelled',
] as const;
export type CountName = (typeof COUNT_NAMES)[number];

/** What one event adds. */
export interface TallyEntry {
  counts: readonly CountName[];
  errorCode?: string | undefined;
  claimMs?: number | undefined;
  endMs?: number | undefined;
}

/** What happened in one stretch of time. */
export interface Tally {
  counts: Partial<Record<CountName, number>>;
  /** Failures by code. */
  failures: Map<string, number>;
  claimTimes: Histogram;
  endTimes: Histogram;
}

/** Codes beyond, which agents choose, are counted under this one. */
export const OTHER_CODE = 'other';
const MAX_CODES = 20;

export const createTally = (): Tally => ({
  counts: {},
  failures: new Map(),
  claimTimes: new Map(),
  endTimes: new Map(),
});

const addFailures = (failures: Map<string, number>, code: string, count: number): void => {
  const counted = failures.has(code) || failures.size < MAX_CODES ? code : OTHER_CODE;
  failures.set(counted, (failures.get(counted) ?? 0) + count);
};

export const addEntry = (tally: Tally, { counts, errorCode, claimMs, endMs }: TallyEntry): void => {
  for (const name of counts) tally.counts[name] = (tally.counts[name] ?? 0) + 1;
  if (errorCode !== undefined) addFailures(tally.failures, errorCode, 1);
  if (claimMs !== undefined) addToHistogram(tally.claimTimes, claimMs);
  if (endMs !== undefined) addToHistogram(tally.endTimes, endMs);
};

export const mergeTally = (into: Tally, from: Tally): void => {
  for (const name of COUNT_NAMES) {
    const more = from.counts[name];
    if (more) into.counts[name] = (into.counts[name] ?? 0) + more;
  }
  for (const [code, count] of from.failures) addFailures(into.failures, code, count);
  mergeHistogram(into.claimTimes, from.claimTimes);
  mergeHistogram(into.endTimes, from.endTimes);
};

export const sumCounts = ({ counts }: Tally): number => COUNT_NAMES.reduce((sum, name) => sum + (counts[name] ?? 0), 0);

type Pairs<K> = [K, number][];
/** Counts, failures, times to claim, times to end. Empty ones at the end are left out. */
export type StoredTally = [counts: number[], failures?: Pairs<string>, claim?: Pairs<number>, end?: Pairs<number>];

export const toStoredTally = ({ counts, failures, claimTimes, endTimes }: Tally): StoredTally => {
  const parts = [[...failures], [...claimTimes], [...endTimes]] as const;
  const used = parts.findLastIndex((part) => part.length > 0) + 1;
  return [COUNT_NAMES.map((name) => counts[name] ?? 0), ...parts.slice(0, used)] as StoredTally;
};

export const fromStoredTally = ([counts, failures = [], claim = [], end = []]: StoredTally): Tally => ({
  counts: Object.fromEntries(COUNT_NAMES.map((name, at) => [name, counts[at] ?? 0])),
  failures: new Map(failures),
  claimTimes: new Map(claim),
  endTimes: new Map(end),
});
