import type { AfterExecution } from '../identity/tools/tool.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import { equals } from '../ports/conditions.ts';
import type { Item, Key, Ref, TransactionWrite } from '../ports/records.ts';

export const EXECUTION_STATUSES = ['idle', 'dispatched', 'running', 'suspended'] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** Of a turn, or of one of its tool calls. */
export const TURN_RESULTS = ['success', 'failed', 'canceled', 'timeout', 'partial'] as const;
export type TurnResult = (typeof TURN_RESULTS)[number];

/** From the enqueue request. */
export interface ActiveTurn {
  correlation: string;
  depth: number;
  channel: string;
  from: string;
  createdAt: number;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  /** Call headers that Parley does not interpret. */
  headers?: JsonObject;
  /** Agents whose turns or tasks wait for this one, the nearest last. */
  callers?: string[];
  /** The task that the agent works on as this turn. */
  task?: string;
  /** Absent in records from before there were several versions. */
  protocolVersion?: string;
}

export interface TurnStep {
  id: string;
  phase: string;
  at: number;
  metadata?: JsonObject;
}

export type ToolCallStatus = 'waiting' | 'received' | 'expired';

/** The report of a tool, or a timeout report in its place. */
export interface ToolReport extends Trace {
  type: 'tool_result' | 'timeout';
  status: TurnResult;
  afterExecution: AfterExecution;
  card: string;
  at: number;
}

export interface TurnEnd {
  status: TurnResult;
  at: number;
  deliverable?: string;
  outputBox?: string;
  toolResultCard?: string;
  error?: string;
  errorCode?: string;
}

interface LastTurn extends TurnEnd {
  turn: string;
  epoch: number;
  /** The tool call whose report ended it. */
  toolCall?: string;
}

/**
 * What an agent executes now. Every write of its worker names `turn` and `epoch`, and is rejected if either has
 * changed: so an agent never works on two turns.
 */
export interface AgentState extends Item {
  sk: 'head';
  project: string;
  agent: string;
  /** As stored. A suspended turn that waits for nothing counts as running: see `computeExecutionStatus`. */
  state: ExecutionStatus;
  /** Rises with each lease, and with each turn that the watchdog ends. */
  epoch: number;
  turn?: string;
  active?: ActiveTurn;
  /** Chosen by the worker: a repeated lease returns the same turn. */
  leaseId?: string;
  leasedAt?: number;
  /** The last activity of the worker, or of a tool that let the turn continue. */
  aliveAt?: number;
  lastWakeupAt?: number;
  step?: TurnStep;
  steps?: number;
  /** Tool calls by id, the step of each, and their number. They stay until the turn ends. */
  waiting?: Record<string, ToolCallStatus>;
  waitingSteps?: Record<string, string>;
  callCount?: number;
  /** The service of each call of the last suspend. */
  calledServices?: Record<string, string>;
  /** Their reports. */
  reports?: Record<string, ToolReport>;
  /** Calls without a report. */
  openCallCount?: number;
  /** Of the calls of the last suspend. */
  deadlines?: Record<string, number>;
  /** The earliest open deadline, or an earlier time. */
  deadline?: number;
  /** The turn before. */
  last?: LastTurn;
}

export const agentTurnsPk = (project: string, agent: string): string => `${project}#turns#${agent}`;
export const agentStateRef = (project: string, agent: string): Ref<AgentState> => ({
  pk: agentTurnsPk(project, agent),
  sk: 'head',
});
export const isAgentState = (item: Item): item is AgentState => item.sk === 'head';

/** Creates the state of an agent that never had a turn. */
export const buildAgentStateWrite = (
  key: Key,
  head: AgentState | undefined,
  whose: object,
  set: Record<string, unknown>,
): TransactionWrite =>
  head
    ? { kind: 'update', key, change: { set, if: equals('v', head.v) } }
    : { kind: 'create', item: { ...key, ...whose, ...set } };

/** A turn continues as soon as it waits for nothing, even before its worker knows. */
export const computeExecutionStatus = (
  head: Pick<AgentState, 'state' | 'openCallCount'> | undefined,
): ExecutionStatus => {
  if (!head) return 'idle';
  return head.state === 'suspended' && head.openCallCount === 0 ? 'running' : head.state;
};

/** For maps whose keys callers choose: a key may be the name of an inherited property. */
export const getOwn = <T>(map: Record<string, T> | undefined, name: string): T | undefined =>
  map && Object.hasOwn(map, name) ? map[name] : undefined;
