import type { JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import type { ExecutionStatus, TurnEnd, TurnStep } from './agent-state.ts';
import type { Turn } from './turn.ts';

/** What everything that is said of a turn has in common. */
export interface TurnEventContext extends Trace {
  project: string;
  channel: string;
  depth: number;
  /** The version of the protocol in which the turn was called; absent in records of before there were several. */
  protocolVersion?: string;
  /** Who says it; Parley itself, where nobody is named. */
  sender?: string;
}

export const toTurnEventContext = (
  project: string,
  { channel, depth, traceparent, tracestate, protocolVersion }: Omit<TurnEventContext, 'project' | 'sender'>,
  sender?: string,
): TurnEventContext => ({ project, protocolVersion, channel, depth, traceparent, tracestate, sender });

/** Something that happened to a turn. Each has one cause, which tells it from others of its kind. */
export type TurnEvent = {
  cause: string;
  at: number;
  /** Whose it is: an agent, or a group that is woken. */
  target: string;
  context: TurnEventContext;
} & (
  | { kind: 'state'; turn: string; status: ExecutionStatus; epoch: number; outputBox?: string; metadata?: JsonObject }
  | { kind: 'step'; turn: string; step: TurnStep; epoch: number }
  | { kind: 'end'; turn: Turn; end: TurnEnd }
  | { kind: 'wakeup'; agent: string; inboxId?: string; reason: string }
);
