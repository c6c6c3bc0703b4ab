import { isLive } from '../agents/instances.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { type Performed, perform } from '../perform.ts';
import type { Change } from '../ports/conditions.ts';
import type { Outgoing } from '../ports/queues.ts';
import type { RecordChange } from '../ports/records.ts';
import { queuedBy } from './queued-by.ts';
import { type Task, taskRef } from './task.ts';
import { forAnyInstance, pass } from './time.ts';

/** Changes one task by one conditional write, and hurries what must be queued after it. */
export const changeTask = async (
  deps: Deps,
  project: string,
  id: string,
  blind: Change | undefined,
  decide: (task: Task) => Change | ParleyError | 'unchanged',
): Promise<Performed<Task>> => {
  const done = await perform(deps.records, taskRef(project, id), deps.newId(), blind, (task) => {
    if (!task) throw noTask(id);
    const decision = decide(task);
    if (decision instanceof Error) throw decision;
    return decision;
  });
  if (done.outcome === 'changed' && !done.again) await hurry(deps, done);
  return done;
};

export const noTask = (id: string): ParleyError => new ParleyError('task_not_found', `There is no task ${id}.`);

/**
 * The fast path: what the dispatcher will queue anyway is queued now, under the same deduplication id. Should it fail,
 * nothing is lost, because the change itself is on record and the dispatcher works it off.
 */
export const hurry = (deps: Deps, change: RecordChange<Task>): Promise<void> | undefined => {
  // What goes to NATS could overtake what went before it, and rides the stream alone.
  const messages = queuedBy(change).filter(({ lane }) => lane.kind !== 'relay');
  return messages.length === 0 ? undefined : sendNow(deps, change, messages);
};

const sendNow = async (deps: Deps, change: RecordChange<Task>, messages: Outgoing[]): Promise<void> => {
  try {
    await deps.queues.send(messages);
  } catch (error) {
    deps.log('warn', 'the fast path failed; the dispatcher will queue the task', {
      taskId: change.after?.id,
      error: String(error),
    });
  }
};

/** What waits for one instance waits for any as soon as that one is gone. */
const passing = async (deps: Deps, task: Task): Promise<Change> => {
  const when = { now: deps.clock.now(), limits: deps.config.tasks };
  const { status, to, instance } = task;
  if (status !== 'requested' || to === undefined || instance === undefined) return pass(task, when);
  if (!(await isLive(deps, task.project, to, instance))) return forAnyInstance(task, when);
  const change = pass(task, when);
  const { due } = change.set ?? {};
  const soon = when.now + deps.config.agents.instanceMs;
  return typeof due === 'number' && due > soon ? { ...change, set: { ...change.set, due: soon } } : change;
};

/** What time alone does to a task whose due time has come. */
export const onTaskDue = async (deps: Deps, task: Task): Promise<void> => {
  const change = await passing(deps, task);
  const written = await deps.records.update(taskRef(task.project, task.id), change, deps.newId());
  if (written.outcome === 'written' && !written.again) await hurry(deps, written);
};
