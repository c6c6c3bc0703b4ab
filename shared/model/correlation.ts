import type { Item, NewItem, Ref } from '../ports/records.ts';

export type CallPrimitive = 'enqueue' | 'report' | 'join' | 'tool_call';
export type CallPhase = 'request' | 'response';

/**
 * A request or response under a correlation id, once per primitive and phase, with its depth. The response to a tool
 * call is a report.
 */
export interface CorrelationRecord extends Item {
  sk: `${CallPrimitive}#${CallPhase}`;
  correlation: string;
  depth: number;
  turn: string;
  happenedAt: number;
  /** Recognises a repetition. */
  fingerprint?: string;
  traceparent?: string;
}

const correlationPk = (project: string, correlation: string): string => `${project}#correlation#${correlation}`;

export const correlationRef = (
  project: string,
  correlation: string,
  primitive: CallPrimitive,
  phase: CallPhase,
): Ref<CorrelationRecord> => ({
  pk: correlationPk(project, correlation),
  sk: `${primitive}#${phase}`,
});

export const buildCorrelationRecord = (
  project: string,
  primitive: CallPrimitive,
  phase: CallPhase,
  correlationRecord: Omit<NewItem<CorrelationRecord>, 'pk' | 'sk'>,
): NewItem<CorrelationRecord> => ({
  ...correlationRecord,
  pk: correlationPk(project, correlationRecord.correlation),
  sk: `${primitive}#${phase}`,
});
