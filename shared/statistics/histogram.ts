/** How many values fell into each range, by its number. Four ranges for each doubling: a range is a fifth wide. */
export type Histogram = Map<number, number>;

const RANGES_PER_DOUBLING = 4;
/** 2^35 milliseconds are a year. */
const MAX_RANGE = 35 * RANGES_PER_DOUBLING;

const findRange = (ms: number): number =>
  ms < 1 ? 0 : Math.min(MAX_RANGE, 1 + Math.floor(Math.log2(ms) * RANGES_PER_DOUBLING));

const getUpperBound = (range: number): number => (range === 0 ? 0 : 2 ** (range / RANGES_PER_DOUBLING));

export const addToHistogram = (histogram: Histogram, ms: number, count = 1): void => {
  const range = findRange(ms);
  histogram.set(range, (histogram.get(range) ?? 0) + count);
};

export const mergeHistogram = (into: Histogram, from: Histogram): void => {
  for (const [range, count] of from) into.set(range, (into.get(range) ?? 0) + count);
};

export const countValues = (histogram: Histogram): number => histogram.values().reduce((sum, count) => sum + count, 0);

/** Milliseconds, to about a tenth; undefined without values. `share` is between 0 and 1. */
export const findPercentile = (histogram: Histogram, share: number): number | undefined => {
  const rank = Math.max(1, Math.ceil(countValues(histogram) * share));
  let before = 0;
  for (const [range, count] of [...histogram].toSorted(([a], [b]) => a - b)) {
    if (before + count >= rank) {
      const [from, to] = [range <= 1 ? getUpperBound(range) : getUpperBound(range - 1), getUpperBound(range)];
      return Math.round(from + ((to - from) * (rank - before - 0.5)) / count);
    }
    before += count;
  }
  return undefined;
};
