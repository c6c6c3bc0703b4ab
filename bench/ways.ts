/** How a life goes over HTTP. */
export const WAYS = {
  /** Four calls a life: request, claim, result, and a wait for the task. */
  oneByOne: {
    label: 'one by one',
    inFlight: 64,
    together: 1,
    workers: 32,
    claimMax: 1,
    reports: 'alone',
    sees: 'task',
  },
  /** A request that waits for its outcome, and a claim that brings the last result along. */
  twoCalls: {
    label: 'in two calls',
    inFlight: 64,
    together: 1,
    workers: 32,
    claimMax: 1,
    reports: 'with claim',
    sees: 'answer',
  },
  /** Requests 16 at a time, claims of 10 with the last results, and the inbox in as large pieces as there are. */
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

/** What a submitter or an agent process is started with. */
export interface Job {
  port: number;
  id: string;
  key: string;
  way: Way;
}

/** What the submitter answers to each number of lives that it is sent. */
export interface Lived {
  lives: number;
  seconds: number;
  /** From the request being sent to the result being seen. */
  p50Ms: number;
  p99Ms: number;
}
