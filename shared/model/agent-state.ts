import type { AfterExecution } from '../identity/tools/tool.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { Trace } from '../kernel/trace.ts';
import { equals } from '../ports/conditions.ts';
import type { Item, Key, Ref, TransactionWrite } from '../ports/records.ts';

export const EXECUTION_STATUSES = ['idle', 'dispatched', 'running', 'suspended'] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** How a turn, or one of its tools, ended. */
export const TURN_RESULTS = ['success', 'failed', 'canceled', 'timeout', 'partial'] as const;
export type TurnResult = (typeof TURN_RESULTS)[number];

/** What was said of the active turn when it was enqueued. */
export interface ActiveTurn {
  correlation: string;
  depth: number;
  channel: string;
  from: string;
  createdAt: number;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  /** What the headers of the call said that has no meaning here. */
  headers?: JsonObject;
  /** The agents whose turns, or tasks, wait for this one, the nearest last. */
  callers?: string[];
  /** The task that the turn works on, where it came as one. */
  task?: string;
  /** In which it is told; absent in records of before there were several. */
  protocolVersion?: string;
}

export interface TurnStep {
  id: string;
  phase: string;
  at: number;
  metadata?: JsonObject;
}

export type ToolCallStatus = 'waiting' | 'received' | 'expired';

/** What a tool said, or what was said in its stead when its time was over. */
export interface ToolReport extends Trace {
  type: 'tool_result' | 'timeout';
  status: TurnResult;
  afterExecution: AfterExecution;
  card: string;
  at: number;
}

/** How a turn ended. */
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
 * What an agent is doing. Whoever holds its turn knows `turn` and `epoch`, and every write of the holder is refused unless both
 * are still the same: they are the law that keeps an agent from doing two things at once.
 */
export interface AgentState extends Item {
  sk: 'head';
  project: string;
  agent: string;
  /** As written; a suspended turn that waits for nothing any more is running: `computeExecutionStatus` knows. */
  state: ExecutionStatus;
  /** Rises with every lease and every reaping. */
  epoch: number;
  turn?: string;
  active?: ActiveTurn;
  /** Names the lease, so that the same one again brings the same turn. */
  leaseId?: string;
  leasedAt?: number;
  /** The last sign of life of the turn's worker, or of a tool that let it go on. */
  aliveAt?: number;
  lastWakeupAt?: number;
  step?: TurnStep;
  steps?: number;
  /** Every tool call that the turn waits for or has waited for, in which step each was made, and how many they are. */
  waiting?: Record<string, ToolCallStatus>;
  waitingSteps?: Record<string, string>;
  callCount?: number;
  /** Who was called for each of those that it waited for last, where a tool was. */
  calledServices?: Record<string, string>;
  /** What was said of them. */
  reports?: Record<string, ToolReport>;
  /** How many are still waited for. */
  openCallCount?: number;
  /** When each of the calls that it waited for last must have been answered. */
  deadlines?: Record<string, number>;
  /** The first of those times that is still to come, or earlier. */
  deadline?: number;
  /** The turn before, and how it ended. */
  last?: LastTurn;
}

export const agentTurnsPk = (project: string, agent: string): string => `${project}#turns#${agent}`;
export const agentStateRef = (project: string, agent: string): Ref<AgentState> => ({
  pk: agentTurnsPk(project, agent),
  sk: 'head',
});
export const isAgentState = (item: Item): item is AgentState => item.sk === 'head';

/** The head as it was seen, or the first of an agent that never had a turn. */
export const buildAgentStateWrite = (
  key: Key,
  head: AgentState | undefined,
  whose: object,
  set: Record<string, unknown>,
): TransactionWrite =>
  head
    ? { kind: 'update', key, change: { set, if: equals('v', head.v) } }
    : { kind: 'create', item: { ...key, ...whose, ...set } };

/** The turn goes on as soon as it waits for nothing, whether or not its worker knows. */
export const computeExecutionStatus = (
  head: Pick<AgentState, 'state' | 'openCallCount'> | undefined,
): ExecutionStatus => {
  if (!head) return 'idle';
  return head.state === 'suspended' && head.openCallCount === 0 ? 'running' : head.state;
};

/** What a map has under a name that somebody else chose, which may be the name of what every object has. */
export const getOwn = <T>(map: Record<string, T> | undefined, name: string): T | undefined =>
  map && Object.hasOwn(map, name) ? map[name] : undefined;
