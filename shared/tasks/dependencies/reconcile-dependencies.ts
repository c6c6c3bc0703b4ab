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

/** The time to live starts when it is queued. */
export const buildWaitingFields = (awaited: Task[], now: number): Partial<NewItem<Task>> =>
  awaited.length === 0 ? {} : { status: 'waiting', queueGeneration: 0, due: now + RECHECK_MS };

/**
 * Links from each dependency to the task. They only say what to reconcile: the state follows from the dependencies as
 * they are, so notifications may be duplicated, late or reordered.
 */
export const buildDependentLinkWrites = (awaited: Task[], taskId: string, now: number): TransactionWrite[] =>
  awaited.flatMap(({ pk, sk }) => [
    // The time separates it from the link of an earlier task with this id.
    { kind: 'create', item: { pk, sk: `dependent#${taskId}#${now}`, taskId, expires: now + RELATED_RETENTION_MS } },
    { kind: 'update', key: { pk, sk }, change: { add: { dependentCount: 1 } } },
  ]);

/** Computes the state from all dependencies. A concurrent write triggers it again. */
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
