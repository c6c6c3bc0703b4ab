/** `npm run test:long` searches whole; `npm test` takes a short stretch of each search, the same one every time. */
export const isLong = process.env.PARLEY_TESTS === 'long';

/** How many runs a random search makes, and from which seed: chance picks the seed of a long one, and a failure tells it. */
export const searchRuns = (short: number, long: number, seed = 1): { numRuns: number; seed?: number } =>
  isLong ? { numRuns: long } : { numRuns: short, seed };
