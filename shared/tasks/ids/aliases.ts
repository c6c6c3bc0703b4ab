import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { isDerivedId } from '../../kernel/ids.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import { type Task, taskRef } from '../../model/task.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';

/** Another id of a task, for agents whose dialect cannot express its own. */
export interface Alias extends Item {
  sk: 'alias';
  taskId: string;
}

const aliasRef = (project: string, id: string): Ref<Alias> => ({ pk: `${project}#alias#${id}`, sk: 'alias' });

/** Awaited before the id is sent to anyone. */
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
 * Runs with the task id for any id of a task. Aliases are derived ids, which senders may not use: an unknown derived
 * id is an alias or nothing.
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
