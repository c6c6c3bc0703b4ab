import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Item, Records, Ref } from '../ports/records.ts';
import { type Task, taskRef } from './task.ts';

/** Another id that finds a task: the one under which it was told to somebody who could not be told its own. */
interface Alias extends Item {
  sk: 'alias';
  taskId: string;
}

const aliasRef = (project: string, id: string): Ref<Alias> => ({ pk: `${project}#alias#${id}`, sk: 'alias' });

/** Longer than a task is kept. */
const KEPT_MS = 30 * 86_400_000;

/** From now on the id finds the task too. Nobody is told the id before this has resolved. */
export const keepAlias = async (
  { records, clock, newId }: Pick<Deps, 'records' | 'clock' | 'newId'>,
  project: string,
  id: string,
  taskId: string,
): Promise<void> => {
  const set = { taskId, expires: clock.now() + KEPT_MS };
  await records.update(aliasRef(project, id), { set }, newId(), 'orCreate');
};

/**
 * What is done to a task by its own id, done by any of its ids. Only an id that no task has is looked up among the aliases, so
 * that tasks without one cost nothing.
 */
export const byAnyId = async <T>(
  { records }: Pick<Deps, 'records'>,
  project: string,
  id: string,
  act: (taskId: string) => Promise<T>,
): Promise<T> => {
  try {
    return await act(id);
  } catch (error) {
    if (!(error instanceof ParleyError && error.code === 'task_not_found')) throw error;
    const alias = await records.get(aliasRef(project, id));
    if (!alias) throw error;
    return act(alias.taskId);
  }
};

export const taskByAnyId = async (records: Records, project: string, id: string): Promise<Task | undefined> => {
  const task = await records.get(taskRef(project, id));
  if (task) return task;
  const alias = await records.get(aliasRef(project, id));
  return alias && records.get(taskRef(project, alias.taskId));
};
