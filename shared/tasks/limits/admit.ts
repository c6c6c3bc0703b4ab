import type { TaskLimit } from '../../identity/limit-rules.ts';
import { type Limit, type LimitBlock, type LimitPlace, limitRef } from '../../model/limit.ts';
import { addStart, countPlaces, findNextStartAt, isLent, isPlaceHeld } from '../../model/limit-places.ts';
import { type Task, taskRef } from '../../model/task.ts';
import type { Item, Records } from '../../ports/records.ts';

/** What is known of a key, with the places of those who may have ended since. */
export interface KeyState {
  key: string;
  /** As it is stored; absent for a key that nobody has used lately. */
  limit?: Limit | undefined;
  places: readonly LimitPlace[];
  starts: Limit['starts'];
  windowMs: Limit['windowMs'];
  /** No place is left of a task that has ended. Some may be of tasks that are only about to start. */
  isCurrent?: true;
}

/** By key. A pool is changed by those whom it admits. */
export type KeyPool = Map<string, KeyState>;

export const toKeyState = (key: string, limit: Limit | undefined): KeyState => ({
  key,
  limit,
  places: limit?.places ?? [],
  starts: limit?.starts,
  windowMs: limit?.windowMs,
});

const isLimit = (item: Item): item is Limit => item.sk === 'limit';

/** Reads the keys that the pool lacks. */
export const loadKeys = async (
  records: Records,
  project: string,
  keys: readonly string[],
  pool: KeyPool = new Map(),
): Promise<KeyPool> => {
  const missing = [...new Set(keys)].filter((key) => !pool.has(key));
  const found = missing.length === 0 ? [] : await records.getMany<Item>(missing.map((key) => limitRef(project, key)));
  const byKey = new Map(found.filter(isLimit).map((limit) => [limit.key, limit]));
  for (const key of missing) pool.set(key, toKeyState(key, byKey.get(key)));
  return pool;
};

const PLACES_READ_AT_ONCE = 100;

/** The same, without the places of tasks that have ended. */
export const loadCurrentKeys = async (
  records: Records,
  project: string,
  keys: readonly string[],
  pool: KeyPool = new Map(),
): Promise<KeyPool> => {
  await loadKeys(records, project, keys, pool);
  for (const state of [...pool.values()])
    if (!state.isCurrent) pool.set(state.key, await dropEnded(records, project, state, 'all'));
  return pool;
};

/** Without the places of tasks that have ended or lost their lease. Reads on until it finds one, or all if it must. */
export const dropEnded = async (
  records: Records,
  project: string,
  state: KeyState,
  how: 'until one' | 'all' = 'until one',
): Promise<KeyState> => {
  const ended = new Set<LimitPlace>();
  for (let at = 0; at < state.places.length; at += PLACES_READ_AT_ONCE) {
    const page = state.places.slice(at, at + PLACES_READ_AT_ONCE);
    const tasks = await records.getMany(page.map(({ task }) => taskRef(project, task)));
    const byId = new Map(tasks.map((task) => [task.id, task]));
    for (const place of page) if (!isPlaceHeld(place, byId.get(place.task))) ended.add(place);
    if (ended.size > 0 && how === 'until one') break;
  }
  const places = ended.size === 0 ? state.places : state.places.filter((place) => !ended.has(place));
  return { ...state, places, ...(how === 'all' && { isCurrent: true }) };
};

const MAX_ANCESTORS = 8;

/** The nearest ancestor that has a place and lends it to nobody yet: without it, a task could wait for its own subtask forever. */
const findLender = async (records: Records, task: Task, places: readonly LimitPlace[]): Promise<string | undefined> => {
  let { parent } = task;
  for (let level = 0; parent !== undefined && level < MAX_ANCESTORS; level++) {
    if (places.some((place) => place.task === parent)) return isLent(places, parent) ? undefined : parent;
    const above: Task | undefined = await records.get(taskRef(task.project, parent));
    parent = above?.parent;
  }
  return undefined;
};

export type LimitAdmission = { block: LimitBlock } | { block?: undefined; states: KeyState[] };

/** Whether the task may start now: what it would take, or the first key that has no place for it. */
export const admit = async (
  records: Records,
  task: Task,
  limits: readonly TaskLimit[],
  pool: KeyPool,
  now: number,
): Promise<LimitAdmission> => {
  const states: KeyState[] = [];
  for (const { key, concurrency, rate } of limits) {
    let state = pool.get(key) ?? toKeyState(key, undefined);
    const nextStartAt = rate && findNextStartAt(state, rate, now);
    if (nextStartAt !== undefined) return { block: { key, reason: 'rate', concurrency, rate, nextStartAt } };
    if (rate) state = { ...state, ...addStart(state, rate, now) };
    if (concurrency !== undefined) {
      // It has no holder, so a place of an earlier attempt is none.
      state = { ...state, places: state.places.filter((place) => place.task !== task.id) };
      const isFull = countPlaces(state.places) >= concurrency;
      if (isFull && !state.isCurrent) state = await dropEnded(records, task.project, state);
      const running = countPlaces(state.places);
      const under = running < concurrency ? undefined : await findLender(records, task, state.places);
      if (running >= concurrency && under === undefined) {
        return { block: { key, reason: 'concurrency', concurrency, rate, running } };
      }
      const place = { task: task.id, attempt: task.attempt + 1, ...(under !== undefined && { under }) };
      state = { ...state, places: [...state.places, place] };
    }
    states.push(state);
  }
  return { states };
};
