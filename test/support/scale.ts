/** `npm run test:long` searches whole; `npm test` takes a short stretch of each search, the same one every time. */
export const isLong = process.env.PARLEY_TESTS === 'long';

/** The runner of AWS takes a hundred times the CPU of the embedded engine, on which `npm test` runs the same tests whole. */
export const isShort = process.env.PARLEY_TESTS === 'short';

/** How many runs a random search makes, and from which seed: chance picks the seed of a long one, and a failure tells it. */
export const searchRuns = (short: number, long: number, seed = 1): { numRuns: number; seed?: number } =>
  isLong ? { numRuns: long } : { numRuns: short, seed };
