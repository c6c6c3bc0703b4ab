import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Item } from '../ports/records.ts';
import { byAnyId } from './alias.ts';
import { HISTORY_LIMIT, type HistoryEntry, hasHistory } from './history.ts';
import { maySee } from './may-see.ts';
import { isOpen, type Task, taskRef } from './task.ts';

export interface Found {
  task: Task;
  entries: HistoryEntry[];
}

/** The task and its history. With `waitMs`, the answer comes when the task has ended or asks for input, or after that time. */
export const lookUp = (deps: Deps, caller: Caller, id: string, waitMs = 0, signal?: AbortSignal): Promise<Found> =>
  byAnyId(deps, caller.project, id, (taskId) => found(deps, caller, taskId, waitMs, signal));

const found = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Found> => {
  const task =
    waitMs > 0
      ? await settled(deps, caller, id, waitMs, signal)
      : visible(caller, id, await deps.records.get(taskRef(caller.project, id)));
  return { task, entries: hasHistory(task) ? await entriesOf(deps, task) : [] };
};

/** The task once it is no longer under way, or as it is after `waitMs`. */
const settled = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Task> => {
  const until = deps.clock.now() + waitMs;
  const ref = taskRef(caller.project, id);
  const listener = deps.records.listen(ref.pk);
  try {
    for (;;) {
      const task = visible(caller, id, await deps.records.get(ref));
      const left = until - deps.clock.now();
      if (!isUnderWay(task) || left <= 0 || signal?.aborted) return task;
      await listener.heard(left, signal);
    }
  } finally {
    listener.close();
  }
};

/** What an agent may see can change while it waits: a task of its domain is another's once that one has claimed it. */
const visible = (caller: Caller, id: string, task: Task | undefined): Task => {
  if (task && maySee(caller, task)) return task;
  throw new ParleyError('task_not_found', `There is no task ${id}.`);
};

const entriesOf = async (deps: Deps, task: Task): Promise<HistoryEntry[]> => {
  const entries = await deps.records.query<HistoryEntry>({ p: task.pk, prefix: 'history#', limit: HISTORY_LIMIT });
  return entries.filter((entry) => entry.life === task.createdAt);
};

/** Nobody but the agents can bring it further. */
export const isUnderWay = (task: Task): boolean => isOpen(task) && task.status !== 'input_required';

export const isTask = (item: Item): item is Task => item.sk === 'task';
