import type { HandlerError } from './handler.ts';

export interface InstanceData {
  folder: string;
  handler: string;
  functionName: string;
  functionArn: string;
  memoryMb: number;
}

export interface Invocation {
  requestId: string;
  event: string;
  /** In ms since 1970. */
  deadline: number;
}

export type InvocationOutcome = { ok: true; result: string } | ({ ok: false } & HandlerError);

export interface InvocationAnswer {
  outcome: InvocationOutcome;
  cpuMs: number;
  memoryMb: number;
}

export type FromInstance = 'loaded' | InvocationAnswer;
