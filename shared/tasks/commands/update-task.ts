import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { type Task, taskRef } from '../../model/task.ts';
import type { Change } from '../../ports/conditions.ts';
import { type UpdateResult, updateWithRetry } from '../../storage/update-with-retry.ts';
import { enqueueEagerly } from './enqueue-task.ts';

/** One conditional write, and an eager enqueue. */
export const updateTask = async (
  deps: Deps,
  project: string,
  id: string,
  optimisticChange: Change | undefined,
  decide: (task: Task) => Change | ParleyError | 'unchanged',
): Promise<UpdateResult<Task>> => {
  const done = await updateWithRetry(deps.records, taskRef(project, id), deps.newId(), optimisticChange, (task) => {
    if (!task) throw taskNotFoundError(id);
    const decision = decide(task);
    if (decision instanceof Error) throw decision;
    return decision;
  });
  if (done.outcome === 'changed' && !done.replayed) await enqueueEagerly(deps, done);
  return done;
};

export const taskNotFoundError = (id: string): ParleyError =>
  new ParleyError('task_not_found', `There is no task ${id}.`);
