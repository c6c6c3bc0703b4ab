export const WAYS = {
  /** Four calls: request, claim, result, and a wait for the task. */
  oneByOne: {
    label: 'one by one',
    inFlight: 64,
    together: 1,
    workers: 32,
    claimMax: 1,
    reports: 'alone',
    sees: 'task',
  },
  /** A request that waits for its outcome, and a claim with the previous result. */
  twoCalls: {
    label: 'in two calls',
    inFlight: 64,
    together: 1,
    workers: 32,
    claimMax: 1,
    reports: 'with claim',
    sees: 'answer',
  },
  /** Requests in groups of 16, claims of 10 with the previous results, inbox pages as large as possible. */
  inBatches: {
    label: 'in batches',
    inFlight: 64,
    together: 16,
    workers: 6,
    claimMax: 10,
    reports: 'with claim',
    sees: 'inbox',
  },
  idle: {
    label: 'idle, four calls',
    inFlight: 1,
    together: 1,
    workers: 1,
    claimMax: 1,
    reports: 'alone',
    sees: 'task',
  },
  idleTwoCalls: {
    label: 'idle, two calls',
    inFlight: 1,
    together: 1,
    workers: 1,
    claimMax: 1,
    reports: 'with claim',
    sees: 'answer',
  },
} as const;

export type Way = keyof typeof WAYS;

export interface Job {
  port: number;
  id: string;
  key: string;
  way: Way;
}

export interface Lived {
  lives: number;
  seconds: number;
  /** From request sent to result seen. */
  p50Ms: number;
  p99Ms: number;
}
