import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Fresh, Write } from '../ports/records.ts';
import { hurry } from './change-task.ts';
import { LINK_KEPT_MS } from './links.ts';
import { maySee } from './may-see.ts';
import { type Task, taskRef } from './task.ts';
import { LOOK_AGAIN_MS } from './time.ts';
import { afterDependencies, endedWaiting } from './waiting.ts';

/** A transaction of DynamoDB takes 100 writes: the task, the link to its parent and the parent, and two for each of these. */
export const MOST_DEPENDENCIES = 48;

export const tooMany = (ids: readonly string[]): ParleyError | undefined =>
  ids.length <= MOST_DEPENDENCIES
    ? undefined
    : new ParleyError('too_large', `A task can wait for ${MOST_DEPENDENCIES} others, not for ${ids.length}.`, {
        facts: { limit: MOST_DEPENDENCIES },
      });

/** Those of the request's dependencies that are not completed yet. */
export const awaitedBy = async (
  deps: Deps,
  caller: Caller,
  waitsFor: readonly string[],
): Promise<Task[] | ParleyError> => {
  const ids = [...new Set(waitsFor)];
  const refusal = tooMany(ids);
  if (refusal) return refusal;
  const found = ids.length > 0 ? await deps.records.getMany(ids.map((id) => taskRef(caller.project, id))) : [];
  const dependencies = found.filter((task) => maySee(caller, task));
  const unknown = ids.filter((id) => !dependencies.some((task) => task.id === id));
  if (unknown.length === 0) return dependencies.filter(({ status }) => status !== 'completed');
  return new ParleyError('unknown_dependency', `There is no such task to wait for: ${unknown.join(', ')}.`, {
    facts: { unknown },
  });
};

/** How a task begins that must wait. Its time to live counts from when it is queued. */
export const heldBack = (awaited: Task[], now: number): Partial<Fresh<Task>> =>
  awaited.length === 0 ? {} : { status: 'waiting', entry: 0, due: now + LOOK_AGAIN_MS };

/**
 * Written with the task: a link to it with each that it waits for. It only says whom to look at when there is news: what
 * becomes of a task follows from what those that it waits for are then, so that news may come twice, late or in any order.
 */
export const waiterWrites = (awaited: Task[], taskId: string, now: number): Write[] =>
  awaited.flatMap(({ pk, sk }) => [
    // The time tells it from the link of a task that had the id long before.
    { kind: 'create', item: { pk, sk: `waiter#${taskId}#${now}`, taskId, expires: now + LINK_KEPT_MS } },
    { kind: 'update', key: { pk, sk }, change: { add: { waiters: 1 } } },
  ]);

/** Does to the task what follows from those that it waits for. Whoever wrote to it in between has it looked at again. */
export const lookAtDependencies = async (deps: Deps, project: string, taskId: string): Promise<void> => {
  const ref = taskRef(project, taskId);
  const task = await deps.records.get(ref);
  if (!task?.waitsFor || !(task.status === 'waiting' || endedWaiting(task))) return;
  const dependencies = await deps.records.getMany(task.waitsFor.map((id) => taskRef(project, id)));
  const change = afterDependencies(task, dependencies, { now: deps.clock.now(), limits: deps.config.tasks });
  if (change === 'unchanged') return;
  const written = await deps.records.update(ref, change, deps.newId());
  if (written.outcome === 'written' && !written.again) await hurry(deps, written);
};
