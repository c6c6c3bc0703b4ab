/** How a life goes over HTTP. */
export const WAYS = {
  /** Four calls a life: request, claim, result, and a wait for the task. */
  oneByOne: { label: 'one by one', inFlight: 64, workers: 32, claimMax: 1, sees: 'task' },
  /** Requests come singly; claims, results and the reading of the inbox go in batches. */
  inBatches: { label: 'in batches', inFlight: 64, workers: 6, claimMax: 10, sees: 'inbox' },
  idle: { label: 'idle', inFlight: 1, workers: 1, claimMax: 1, sees: 'task' },
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
