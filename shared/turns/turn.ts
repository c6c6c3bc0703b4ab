import { idFrom } from '../ids.ts';
import type { JsonObject } from '../json/json.ts';
import type { Item, Key, Ref } from '../ports/records.ts';
import { type Joins, sortable, type Task } from '../tasks/task.ts';
import { type Active, type TurnEnd, turnsPk } from './head.ts';
import type { ToolCall } from './tool-call.ts';

/** What was asked for. */
interface Asked extends Omit<Active, 'task'> {
  contextBox?: string;
  payload?: JsonObject;
  /** What the headers of the call said that has no meaning here. */
  headers?: JsonObject;
}

/** One enqueued call. It ends once, and its one task event follows from that. While it is leased, the agent's head knows more. */
export interface Turn extends Item, Asked {
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
  /** A batch that is told when the turn ends, and as which of its parts. */
  joins?: Joins;
  /** The action of a user interface that the turn is. */
  action?: string;
  /** The task that the turn works on, where it came as one, and which attempt at it the turn is. */
  task?: string;
  attempt?: number;
  /** Where its agent speaks another protocol, it is handed over as a task of this turn's id. */
  isTask?: true;
  state: 'queued' | 'leased' | 'ended';
  epoch?: number;
  leasedAt?: number;
  steps?: number;
  /** How often the bell was rung. */
  rung: number;
  end?: TurnEnd;
}

/** The turn that an agent of this protocol works on a task as, each time that it is given it. */
export const workIdOf = ({ id, attempt, entry }: Pick<Task, 'id' | 'attempt' | 'entry'>): string =>
  `turn_${idFrom(`${id}#${attempt}#${entry}`)}`;

/** The turn that a part of a batch is. */
export const partIdOf = ({ batch, child }: Joins): string => `turn_${idFrom(`${batch}/${child}`)}`;

export const turnRef = (project: string, id: string): Ref<Turn> => ({ pk: `${project}#turn#${id}`, sk: 'turn' });
export const isTurn = (item: Item): item is Turn => item.sk === 'turn';

/** A turn in the queue of its agent or group, under the same key as the head, so that one look sees both. It goes when it is leased. */
export interface QueuedTurn extends Item, Asked {
  sk: `queued#${string}`;
  turn: string;
}

export const QUEUED = 'queued#';
export const isQueued = (item: Item): item is QueuedTurn => item.sk.startsWith(QUEUED);

/** A group has a queue for each channel, so that nobody must look through turns that it may not see. No agent has such a name. */
export const groupQueue = (group: string, channel: string): string => `@${group}/${channel}`;
const queueOf = ({ agent, isForGroup, channel }: Pick<Turn, 'agent' | 'isForGroup' | 'channel'>): string =>
  isForGroup ? groupQueue(agent, channel) : agent;

type QueuedKey = Key & { sk: QueuedTurn['sk'] };

export const queuedKey = (
  turn: Pick<Turn, 'project' | 'agent' | 'isForGroup' | 'channel' | 'createdAt' | 'id'>,
): QueuedKey => ({
  pk: turnsPk(turn.project, queueOf(turn)),
  sk: `${QUEUED}${sortable(turn.createdAt)}#${turn.id}`,
});

/** A step of a turn, as it is shown; the newest take the places of the oldest. */
export interface KeptStep extends Item {
  sk: `step#${string}`;
  number: number;
  step: { id: string; phase: string; at: number; metadata?: JsonObject };
}

export const STEPS_KEPT = 64;
export const stepRef = (project: string, turn: string, number: number): Ref<KeptStep> => ({
  pk: `${project}#turn#${turn}`,
  sk: `step#${String(number % STEPS_KEPT).padStart(2, '0')}`,
});
