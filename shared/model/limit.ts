import type { LimitNumbers } from '../identity/limit-rules.ts';
import { PRIORITIES } from '../ports/queues.ts';
import type { IndexKey, Item, Ref } from '../ports/records.ts';
import { type Task, timeOrderedKey } from './task.ts';

export const LIMIT_KEY = /^[A-Za-z0-9][\w.:@*-]{0,127}$/;
export const LIMIT_KEY_RULE =
  'must be 1 to 128 of letters, digits, _ . : @ * and -, and begin with a letter or a digit';
/** A transaction writes the task and the record of each key. */
export const MAX_LIMITS = 4;
/** A record of so many places has 60 KB, and DynamoDB bills every start by its size. */
export const MAX_CONCURRENCY = 1000;
export const MAX_STARTS = 1_000_000;
export const MAX_RATE_SECONDS = 7 * 86_400;

/** What a task that runs holds of a key. It counts only while its task is at this attempt and has a holder. */
export interface LimitPlace {
  task: string;
  attempt: number;
  /** The parent that lends it the place. */
  under?: string;
}

/** Starts by the end of a short stretch, so that each counts for the whole window and at most a 32nd longer. */
export type StartCount = [until: number, starts: number];

/** Of one key: who runs, and what started lately. It is written with each start, and with nothing else. */
export interface Limit extends Item {
  sk: 'limit';
  project: string;
  key: string;
  places: LimitPlace[];
  starts?: StartCount[];
  /** The longest window of a start, in milliseconds. */
  windowMs?: number;
}

export const limitRef = (project: string, key: string): Ref<Limit> => ({
  pk: `${project}#limit#${key}`,
  sk: 'limit',
});

export const limitsListKey = (project: string): string => `${project}#limits`;

/** Of unclaimed tasks with this key, by priority and time. A task is in the list of one of its keys. */
export const limitedListKey = (project: string, key: string): string => `${project}#limited#${key}`;

export const limitedIndexKey = (
  { project, id, priority, queuedAt }: Pick<Task, 'project' | 'id' | 'priority' | 'queuedAt'>,
  key: string,
): IndexKey => {
  const { pk, sk } = timeOrderedKey(limitedListKey(project, key), queuedAt, id);
  return { pk, sk: `${PRIORITIES.indexOf(priority)}#${sk}` };
};

export type LimitReason = 'concurrency' | 'rate';

export interface LimitBlock extends LimitNumbers {
  key: string;
  reason: LimitReason;
  /** Tasks that run, if they are too many. */
  running?: number;
  /** If the rate says when. */
  nextStartAt?: number;
}
