import type { JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import type { ExecutionStatus, TurnEnd, TurnStep } from './agent-state.ts';
import type { Turn } from './turn.ts';

/** Common fields of all events of a turn. */
export interface TurnEventContext extends Trace {
  project: string;
  channel: string;
  depth: number;
  /** Absent in records from before there were several versions. */
  protocolVersion?: string;
  /** Absent for Parley. */
  sender?: string;
}

export const toTurnEventContext = (
  project: string,
  { channel, depth, traceparent, tracestate, protocolVersion }: Omit<TurnEventContext, 'project' | 'sender'>,
  sender?: string,
): TurnEventContext => ({ project, protocolVersion, channel, depth, traceparent, tracestate, sender });

/** An event of a turn. Its cause makes it unique. */
export type TurnEvent = {
  cause: string;
  at: number;
  /** An agent, or a group to wake. */
  target: string;
  context: TurnEventContext;
} & (
  | { kind: 'state'; turn: string; status: ExecutionStatus; epoch: number; outputBox?: string; metadata?: JsonObject }
  | { kind: 'step'; turn: string; step: TurnStep; epoch: number }
  | { kind: 'end'; turn: Turn; end: TurnEnd }
  | { kind: 'wakeup'; agent: string; inboxId?: string; reason: string }
);
