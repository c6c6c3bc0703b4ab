import type { Known } from '../agents/agent.ts';
import { type Caller, nameOf } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { byAnyId, taskByAnyId } from './alias.ts';
import { changeTask } from './change-task.ts';
import { cancel, runAgain, type When } from './ends.ts';
import { maySee } from './may-see.ts';
import { byAgent } from './report.ts';
import { wayFor } from './route-task.ts';
import { onSeen, unseen } from './rules.ts';
import type { Task } from './task.ts';
import { renew } from './transitions.ts';
import { endedWaiting, waitAgain } from './waiting.ts';

/** Ends an open task, whoever works on it. Cancelling twice is the same as once. */
export const cancelTask = (deps: Deps, caller: Caller, id: string): Promise<Task> => {
  const who = nameOf(caller);
  return steered(deps, caller, id, (task) =>
    task.status === 'cancelled' ? 'unchanged' : onSeen(task, cancel(who, when(deps))),
  );
};

/** Runs a failed or expired task once more, if there is still somebody who could claim it. */
export const retryTask = async (deps: Deps, caller: Caller, id: string): Promise<Task> => {
  const found = await taskByAnyId(deps.records, caller.project, id);
  const way = found && (await wayFor(deps, caller.project, found));
  return steered(deps, caller, id, (task) => {
    if (way instanceof Error) return way;
    return endedWaiting(task) ? waitAgain(task, when(deps)) : runAgain(task, when(deps));
  });
};

/** The holder needs more time. */
export const renewLease = async (deps: Deps, holder: Known, id: string, attempt?: number): Promise<Task> => {
  const renewal = renew(byAgent(deps, holder), attempt);
  const { project } = holder.agent;
  const done = await byAnyId(deps, project, id, (taskId) =>
    changeTask(deps, project, taskId, unseen(renewal), (task) => onSeen(task, renewal)),
  );
  return done.outcome === 'changed' ? done.after : done.record;
};

const when = (deps: Deps): When => ({ now: deps.clock.now(), limits: deps.config.tasks });

/** Only the requester and an administrator decide about a task. */
export const steered = async (
  deps: Deps,
  caller: Caller,
  id: string,
  decide: Parameters<typeof changeTask>[4],
): Promise<Task> => {
  const done = await byAnyId(deps, caller.project, id, (taskId) =>
    changeTask(deps, caller.project, taskId, undefined, (task) => {
      if (!maySee(caller, task)) return new ParleyError('task_not_found', `There is no task ${id}.`);
      if (caller.role === 'agent' && caller.known.agent.id !== task.from) {
        return new ParleyError(
          'forbidden',
          `Only ${task.from}, who asked for the task ${id}, or an admin key may do this.`,
        );
      }
      return decide(task);
    }),
  );
  return done.outcome === 'changed' ? done.after : done.record;
};
