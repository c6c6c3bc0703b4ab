export interface ClientJob {
  role: 'submitter' | 'worker';
  way: 'sdk' | 'raw';
  port: number;
  key: string;
}

export interface ClientOrder {
  ms: number;
  concurrency: number;
  /** Cycles a second, if it is not as many as there can be. */
  rate?: number;
}

export interface ClientReport {
  cycles: number;
  seconds: number;
  p50: number;
  p99: number;
  /** Of this process. */
  cpuMs: number;
}

export const CAPABILITY = 'bench';
