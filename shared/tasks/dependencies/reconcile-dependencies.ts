import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import { MAX_DEPENDENCIES, type Task, taskRef } from '../../model/task.ts';
import type { NewItem, TransactionWrite } from '../../ports/records.ts';
import { enqueueEagerly } from '../commands/enqueue-task.ts';
import { canReadTask } from '../queries/can-read-task.ts';
import { toTransitionContext } from '../transitions/end-and-requeue.ts';
import { RECHECK_MS } from '../transitions/timeouts.ts';
import { computeDependencyTransition, isEndedByDependency } from './dependency-transitions.ts';

export const checkDependencyCount = (ids: readonly string[]): ParleyError | undefined =>
  ids.length <= MAX_DEPENDENCIES
    ? undefined
    : new ParleyError('too_large', `A task can wait for ${MAX_DEPENDENCIES} others, not for ${ids.length}.`, {
        details: { limit: MAX_DEPENDENCIES },
      });

/** Those of the request's dependencies that are not completed yet. */
export const findOpenDependencies = async (
  deps: Deps,
  caller: Caller,
  dependencyIds: readonly string[],
): Promise<Task[] | ParleyError> => {
  const ids = [...new Set(dependencyIds)];
  const refusal = checkDependencyCount(ids);
  if (refusal) return refusal;
  const found = ids.length > 0 ? await deps.records.getMany(ids.map((id) => taskRef(caller.project, id))) : [];
  const dependencies = found.filter((task) => canReadTask(caller, task));
  const unknown = ids.filter((id) => !dependencies.some((task) => task.id === id));
  if (unknown.length === 0) return dependencies.filter(({ status }) => status !== 'completed');
  return new ParleyError('unknown_dependency', `There is no such task to wait for: ${unknown.join(', ')}.`, {
    details: { unknown },
  });
};

/** How a task begins that must wait. Its time to live counts from when it is queued. */
export const buildWaitingFields = (awaited: Task[], now: number): Partial<NewItem<Task>> =>
  awaited.length === 0 ? {} : { status: 'waiting', queueGeneration: 0, due: now + RECHECK_MS };

/**
 * Written with the task: a link to it with each that it waits for. It only says whom to look at when there is news: what
 * becomes of a task follows from what those that it waits for are then, so that news may come twice, late or in any order.
 */
export const buildDependentLinkWrites = (awaited: Task[], taskId: string, now: number): TransactionWrite[] =>
  awaited.flatMap(({ pk, sk }) => [
    // The time tells it from the link of a task that had the id long before.
    { kind: 'create', item: { pk, sk: `dependent#${taskId}#${now}`, taskId, expires: now + RELATED_RETENTION_MS } },
    { kind: 'update', key: { pk, sk }, change: { add: { dependentCount: 1 } } },
  ]);

/** Does to the task what follows from those that it waits for. Whoever wrote to it in between has it looked at again. */
export const reconcileDependencies = async (deps: Deps, project: string, taskId: string): Promise<void> => {
  const ref = taskRef(project, taskId);
  const task = await deps.records.get(ref);
  if (!task?.dependencyIds || !(task.status === 'waiting' || isEndedByDependency(task))) return;
  const dependencies = await deps.records.getMany(task.dependencyIds.map((id) => taskRef(project, id)));
  const change = computeDependencyTransition(task, dependencies, toTransitionContext(deps));
  if (change === 'unchanged') return;
  const written = await deps.records.update(ref, change, deps.newId());
  if (written.outcome === 'written' && !written.replayed) await enqueueEagerly(deps, written);
};
