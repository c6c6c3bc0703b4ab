import type { AwsCli } from './aws-cli.ts';
import type { ParleyClient } from './parley-client.ts';

export interface VerifyOptions {
  url: string;
  stage: string;
  /** How long the load lasts, and how many task cycles begin in a second. */
  seconds: number;
  rate: number;
  /** How many claims wait for a task, with one queue and with two. */
  claims: number;
  /** How many agents wait, and how long. */
  idleAgents: number;
  idleSeconds: number;
  /** Calls a second to each of two routes; 0 leaves it out. */
  burst: number;
  /** How long dispatch is stopped; 0 leaves it out. */
  breakSeconds: number;
}

export interface CheckContext {
  options: VerifyOptions;
  admin: ParleyClient;
  /** Absent without credentials: then nothing is read from the account. */
  aws: AwsCli | undefined;
}

export type Verdict = 'as expected' | 'not as expected' | 'look yourself' | 'not tried';

export interface Outcome {
  verdict: Verdict;
  facts: string[];
}

export interface Check {
  title: string;
  expected: string;
  run(context: CheckContext): Promise<Outcome>;
}

export const judge = (isAsExpected: boolean, ...facts: string[]): Outcome => ({
  verdict: isAsExpected ? 'as expected' : 'not as expected',
  facts,
});
export const leaveOut = (...facts: string[]): Outcome => ({ verdict: 'not tried', facts });

/** In milliseconds. */
export const formatTimes = (times: number[]): string => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)}`;
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${sorted.length}`;
};
export const getMedian = (times: number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
