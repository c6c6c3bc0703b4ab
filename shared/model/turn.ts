import { uuidFromSeed } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { pickTraceFields } from '../kernel/trace.ts';
import type { Item, Key, Ref } from '../ports/records.ts';
import { type ActiveTurn, agentTurnsPk, type TurnEnd } from './agent-state.ts';
import { type BatchMembership, type Task, toSortableTime } from './task.ts';
import type { ToolCall } from './tool-call.ts';

/** What was asked for. */
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

/** One enqueued call. It ends once, and its one task event follows from that. While it is leased, the agent's head knows more. */
export interface Turn extends Item, TurnRequest {
  sk: 'turn';
  project: string;
  id: string;
  /** Whose turn it is; for a turn that waits for any agent of a group, the group. */
  agent: string;
  isForGroup?: true;
  /** Absent for a turn that was refused: nobody can repeat it but by the very same mistake. */
  fingerprint?: string;
  /** The call of another turn that this one is the work of. */
  parent?: ToolCall;
  batchMembership?: BatchMembership;
  /** The action of a user interface that the turn is. */
  action?: string;
  /** The task that the turn works on, where it came as one, and which attempt at it the turn is. */
  task?: string;
  attempt?: number;
  /** Where its agent speaks another protocol, it is handed over as a task of this turn's id. */
  isRunAsTask?: true;
  state: 'queued' | 'leased' | 'ended';
  epoch?: number;
  leasedAt?: number;
  steps?: number;
  wakeupCount: number;
  end?: TurnEnd;
}

/** The turn that an agent of this protocol works on a task as, each time that it is given it. */
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

/** A turn in the queue of its agent or group, under the same key as the head, so that one look sees both. It goes when it is leased. */
export interface QueuedTurn extends Item, TurnRequest {
  sk: `queued#${string}`;
  turn: string;
}

export const QUEUED_PREFIX = 'queued#';
export const isQueuedTurn = (item: Item): item is QueuedTurn => item.sk.startsWith(QUEUED_PREFIX);

/** A group has a queue for each channel, so that nobody must look through turns that it may not see. No agent has such a name. */
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
