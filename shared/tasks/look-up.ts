import { servedDomains } from '../agents/agent.ts';
import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Item, Ref } from '../ports/records.ts';
import { HISTORY_LIMIT, type HistoryEntry } from './history.ts';
import { isOpen, type Task, taskRef } from './task.ts';

export interface Found {
  task: Task;
  entries: HistoryEntry[];
}

/** The task and its history, in one read. With `waitMs`, the answer comes when the task has ended, or after that time. */
export const lookUp = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs = 0,
  signal?: AbortSignal,
): Promise<Found> => {
  const ref = taskRef(caller.project, id);
  if (waitMs > 0) await ended(deps, ref, waitMs, signal);
  return read(deps, caller, ref.pk, id);
};

/** Resolves when there is no open task any more, after `waitMs` at the latest. */
const ended = async (deps: Deps, ref: Ref<Task>, waitMs: number, signal?: AbortSignal): Promise<void> => {
  const until = deps.clock.now() + waitMs;
  const listener = deps.records.listen(ref.pk);
  try {
    for (;;) {
      const task = await deps.records.get(ref);
      const left = until - deps.clock.now();
      if (!task || !isOpen(task) || left <= 0 || signal?.aborted) return;
      await listener.heard(left, signal);
    }
  } finally {
    listener.close();
  }
};

const read = async (deps: Deps, caller: Caller, pk: string, id: string): Promise<Found> => {
  const items = await deps.records.query<Task | HistoryEntry>({ p: pk, limit: HISTORY_LIMIT + 1 });
  const task = items.find(isTask);
  if (!task || !maySee(caller, task)) throw new ParleyError('task_not_found', `There is no task ${id}.`);
  return { task, entries: items.filter(isEntry) };
};

export const isTask = (item: Item): item is Task => item.sk === 'task';
const isEntry = (item: Item): item is HistoryEntry => item.sk.startsWith('history#');

/** An agent sees what it asked for, what it holds or was given, and what waits in its domains. */
export const maySee = (caller: Caller, task: Task): boolean => {
  if (caller.role === 'admin') return true;
  const { id } = caller.known.agent;
  return (
    [task.from, task.to, task.holder].includes(id) ||
    (task.to === undefined && servedDomains(caller.known).includes(task.domain))
  );
};
