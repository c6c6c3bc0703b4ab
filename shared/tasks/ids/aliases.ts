import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { isDerivedId } from '../../kernel/ids.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import { type Task, taskRef } from '../../model/task.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';

/** Another id that finds a task: the one under which it was told to somebody who could not be told its own. */
export interface Alias extends Item {
  sk: 'alias';
  taskId: string;
}

const aliasRef = (project: string, id: string): Ref<Alias> => ({ pk: `${project}#alias#${id}`, sk: 'alias' });

/** From now on the id finds the task too. Nobody is told the id before this has resolved. */
export const putAlias = async (
  { records, clock, newId }: Pick<Deps, 'records' | 'clock' | 'newId'>,
  project: string,
  id: string,
  taskId: string,
): Promise<void> => {
  const set = { taskId, expires: clock.now() + RELATED_RETENTION_MS };
  await records.update(aliasRef(project, id), { set }, newId(), 'orCreate');
};

/**
 * What is done to a task by its own id, done by any of its ids. An alias is always derived, and nobody can give a task such an id: what
 * has no task under a derived id is an alias or nothing, and any other id is that of a task or nothing.
 */
export const withResolvedTaskId = async <T>(
  { records }: Pick<Deps, 'records'>,
  project: string,
  id: string,
  act: (taskId: string) => Promise<T>,
): Promise<T> => {
  try {
    return await act(id);
  } catch (error) {
    if (!(error instanceof ParleyError && error.code === 'task_not_found' && isDerivedId(id))) throw error;
    const alias = await records.get(aliasRef(project, id));
    if (!alias) throw error;
    return act(alias.taskId);
  }
};

export const findTaskByAnyId = async (records: Records, project: string, id: string): Promise<Task | undefined> => {
  const task = await records.get(taskRef(project, id));
  if (task || !isDerivedId(id)) return task;
  const alias = await records.get(aliasRef(project, id));
  return alias && records.get(taskRef(project, alias.taskId));
};
