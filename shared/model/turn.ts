import { uuidFromSeed } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { pickTraceFields } from '../kernel/trace.ts';
import type { Item, Key, Ref } from '../ports/records.ts';
import { type ActiveTurn, agentTurnsPk, type TurnEnd } from './agent-state.ts';
import { type BatchMembership, type Task, toSortableTime } from './task.ts';
import type { ToolCall } from './tool-call.ts';

export interface TurnRequest extends Omit<ActiveTurn, 'task'> {
  contextBox?: string;
  payload?: JsonObject;
}

/** The part of a request that the agent state has while the turn is active. */
export const pickActiveTurn = (request: TurnRequest): ActiveTurn => {
  const { correlation, depth, channel, from, createdAt, headers, callers, protocolVersion } = request;
  const asked = { correlation, depth, channel, from, createdAt, headers, callers, protocolVersion };
  return { ...asked, ...pickTraceFields(request) };
};

/** One call, which ends once. While it is leased, the agent state has more. */
export interface Turn extends Item, TurnRequest {
  sk: 'turn';
  project: string;
  id: string;
  /** The agent, or the group while no agent has leased it. */
  agent: string;
  isForGroup?: true;
  /** Absent for a rejected call. */
  fingerprint?: string;
  /** The tool call that the turn executes. */
  parent?: ToolCall;
  batchMembership?: BatchMembership;
  /** The UI action that the turn executes. */
  action?: string;
  /** The task that the agent works on as this turn, and its attempt. */
  task?: string;
  attempt?: number;
  /** Set if the agent has another dialect: it gets the turn as a task under the same id. */
  isRunAsTask?: true;
  state: 'queued' | 'leased' | 'ended';
  epoch?: number;
  leasedAt?: number;
  steps?: number;
  wakeupCount: number;
  /** Of the caller. Only where spans are exported. */
  parentSpan?: string;
  end?: TurnEnd;
}

/** A new turn for each attempt and queue generation of the task. */
export const toTaskTurnId = ({
  id,
  attempt,
  queueGeneration,
}: Pick<Task, 'id' | 'attempt' | 'queueGeneration'>): string =>
  `turn_${uuidFromSeed(['work', id, attempt, queueGeneration])}`;

export const toBatchItemTurnId = ({ batchId, index }: BatchMembership): string =>
  `turn_${uuidFromSeed(['part', batchId, index])}`;

export const turnRef = (project: string, id: string): Ref<Turn> => ({ pk: `${project}#turn#${id}`, sk: 'turn' });
export const isTurn = (item: Item): item is Turn => item.sk === 'turn';

/** In the partition of the agent state, so that one query reads both. Removed by the lease. */
export interface QueuedTurn extends Item, TurnRequest {
  sk: `queued#${string}`;
  turn: string;
}

export const QUEUED_PREFIX = 'queued#';
export const isQueuedTurn = (item: Item): item is QueuedTurn => item.sk.startsWith(QUEUED_PREFIX);

/** One queue per channel, so that nobody reads past turns of other channels. Agent ids never have this form. */
export const formatGroupQueueName = (group: string, channel: string): string => `@${group}/${channel}`;
const getTurnQueueName = ({ agent, isForGroup, channel }: Pick<Turn, 'agent' | 'isForGroup' | 'channel'>): string =>
  isForGroup ? formatGroupQueueName(agent, channel) : agent;

type QueuedTurnKey = Key & { sk: QueuedTurn['sk'] };

export const queuedTurnKey = (
  turn: Pick<Turn, 'project' | 'agent' | 'isForGroup' | 'channel' | 'createdAt' | 'id'>,
): QueuedTurnKey => ({
  pk: agentTurnsPk(turn.project, getTurnQueueName(turn)),
  sk: `${QUEUED_PREFIX}${toSortableTime(turn.createdAt)}#${turn.id}`,
});

/** Steps are a ring: a new one overwrites the oldest. */
export interface StoredStep extends Item {
  sk: `step#${string}`;
  number: number;
  step: { id: string; phase: string; at: number; metadata?: JsonObject };
}

export const MAX_STORED_STEPS = 64;
export const stepRef = (project: string, turn: string, number: number): Ref<StoredStep> => ({
  pk: `${project}#turn#${turn}`,
  sk: `step#${String(number % MAX_STORED_STEPS).padStart(2, '0')}`,
});
