/** What an instance is told when it starts. */
export interface InstanceData {
  folder: string;
  handler: string;
  functionName: string;
  functionArn: string;
  memoryMb: number;
}

export interface Invocation {
  requestId: string;
  /** JSON. */
  event: string;
  /** When Lambda ends it, in ms since 1970. */
  deadline: number;
}

export type InvocationOutcome =
  | { ok: true; result: string }
  | { ok: false; errorType: string; errorMessage: string; trace: string[] };

export interface Answer {
  outcome: InvocationOutcome;
  cpuMs: number;
}

/** What an instance says: first that it has loaded, or could not, and then one answer for each invocation. */
export type FromInstance = 'loaded' | Answer;
