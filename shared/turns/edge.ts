import type { Fresh, Item, Ref } from '../ports/records.ts';

export type Primitive = 'enqueue' | 'report' | 'join' | 'tool_call';
export type Phase = 'request' | 'response';

/**
 * That something was asked or answered under a correlation id, once for each primitive and phase, and how deep in a chain of
 * calls. What answers a tool call is a report.
 */
export interface Edge extends Item {
  sk: `${Primitive}#${Phase}`;
  correlation: string;
  depth: number;
  turn: string;
  happenedAt: number;
  /** Of what was enqueued or called: the same once more is no second turn, and no second call. */
  fingerprint?: string;
  traceparent?: string;
}

const edgesPk = (project: string, correlation: string): string => `${project}#edge#${correlation}`;

export const edgeRef = (project: string, correlation: string, primitive: Primitive, phase: Phase): Ref<Edge> => ({
  pk: edgesPk(project, correlation),
  sk: `${primitive}#${phase}`,
});

export const newEdge = (
  project: string,
  primitive: Primitive,
  phase: Phase,
  edge: Omit<Fresh<Edge>, 'pk' | 'sk'>,
): Fresh<Edge> => ({ ...edge, pk: edgesPk(project, edge.correlation), sk: `${primitive}#${phase}` });
