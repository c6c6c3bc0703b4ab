import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { ParleyError } from '../../kernel/errors.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { type Change, mergeChanges } from '../../ports/conditions.ts';
import { buildWaitAgainChange, isEndedByDependency } from '../dependencies/dependency-transitions.ts';
import { findTaskByAnyId, withResolvedTaskId } from '../ids/aliases.ts';
import { canReadTask } from '../queries/can-read-task.ts';
import {
  buildCancelTransition,
  buildReleaseChange,
  buildRetryChange,
  type ManualChange,
  toTransitionContext,
} from '../transitions/end-and-requeue.ts';
import { buildOptimisticRenewal, buildRenewTransition } from '../transitions/holder-transitions.ts';
import { applyTo, requireAssignedTo, requireAttempt, requireRetryable } from '../transitions/rules.ts';
import { toActor } from './apply-report.ts';
import { assertRequester, checkRequester } from './assert-requester.ts';
import { buildRepeatedChange, createRepetition, getRepetitionId, isRepeatedAsAnother } from './repeat-task.ts';
import { resolveDestination } from './resolve-destination.ts';
import { taskNotFoundError, updateTask } from './update-task.ts';

/** Idempotent, whoever holds the task. */
export const cancelTask = (deps: Deps, caller: Caller, id: string, reason?: string): Promise<Task> => {
  const who = getCallerName(caller);
  return updateAsRequester(deps, caller, id, (task) =>
    task.status === 'cancelled'
      ? 'unchanged'
      : applyTo(task, buildCancelTransition(who, toTransitionContext(deps), { reason })),
  );
};

/** Rejected if nobody could claim it. */
export const retryTask = async (deps: Deps, caller: Caller, id: string, reason?: string): Promise<Task> => {
  const found = await findTaskByAnyId(deps.records, caller.project, id);
  if (found) assertRequester(caller, found, id);
  const prepared = await prepareRetry(deps, found, getCallerName(caller), { reason });
  const retried = await updateAsRequester(deps, caller, id, prepared);
  const repetition = isRepeatedAsAnother(retried) && taskRef(retried.project, getRepetitionId(retried));
  return (repetition && (await deps.records.get(repetition))) || retried;
};

/** What a retry makes of a task. `found` is the task as it was read before. */
export const prepareRetry = async (
  deps: Deps,
  found: Task | undefined,
  by: string,
  details: ManualChange,
): Promise<(task: Task) => Change | ParleyError> => {
  if (found && isRepeatedAsAnother(found)) return await prepareRepetition(deps, found, by, details);
  const destination = found && (await resolveDestination(deps, found.project, found));
  return (task) => {
    if (destination instanceof Error) return destination;
    const when = toTransitionContext(deps);
    const change = isEndedByDependency(task)
      ? buildWaitAgainChange(task, when, by, details)
      : buildRetryChange(task, when, by, details);
    return change instanceof Error || !destination?.routingCapability
      ? change
      : mergeChanges(change, { set: { routingCapability: destination.routingCapability } });
  };
};

const prepareRepetition = async (
  deps: Deps,
  found: Task,
  by: string,
  details: ManualChange,
): Promise<(task: Task) => Change | ParleyError> => {
  const decide = (task: Task): Change | ParleyError =>
    applyTo(task, { rules: [requireRetryable], change: buildRepeatedChange(by, details) });
  if (!(decide(found) instanceof Error)) await createRepetition(deps, found);
  return decide;
};

export const renewLease = async (
  deps: Deps,
  holder: RegisteredAgent,
  id: string,
  { attempt, leaseMs }: { attempt?: number | undefined; leaseMs?: number | undefined } = {},
): Promise<Task> => {
  const by = toActor(deps, holder);
  const { project } = holder.agent;
  const caller: Caller = { project, role: 'agent', registered: holder };
  const done = await withResolvedTaskId(deps, project, id, (taskId) =>
    updateTask(
      deps,
      project,
      taskId,
      leaseMs === undefined ? buildOptimisticRenewal(by, attempt) : undefined,
      (task) =>
        // Others do not learn that the task exists.
        canReadTask(caller, task)
          ? applyTo(task, buildRenewTransition(by, attempt, { ...task, ...(leaseMs !== undefined && { leaseMs }) }))
          : taskNotFoundError(id),
    ),
  );
  return done.outcome === 'changed' ? done.after : done.record;
};

/** The holder, or an administrator for any holder. */
export const releaseTask = async (
  deps: Deps,
  caller: Caller,
  holder: RegisteredAgent | undefined,
  id: string,
  attempt?: number,
): Promise<Task> => {
  const { project } = caller;
  const done = await withResolvedTaskId(deps, project, id, (taskId) =>
    updateTask(deps, project, taskId, undefined, (task) => {
      if (!canReadTask(caller, task)) return taskNotFoundError(id);
      return applyTo(task, {
        rules: [requireAssignedTo(holder?.agent.id ?? task.holder ?? ADMIN_PLACEHOLDER), ...requireAttempt(attempt)],
        change: buildReleaseChange(task, toTransitionContext(deps)),
      });
    }),
  );
  return done.outcome === 'changed' ? done.after : done.record;
};

/** The lease ends those that cannot be released. */
export const releaseTasks = async (deps: Deps, holder: RegisteredAgent, tasks: readonly Task[]): Promise<void> => {
  const caller: Caller = { project: holder.agent.project, role: 'agent', registered: holder };
  const released = tasks.map(({ id, attempt }) => releaseTask(deps, caller, holder, id, attempt));
  for (const outcome of await Promise.allSettled(released)) {
    if (outcome.status === 'rejected') deps.log('warn', 'release failed', { error: String(outcome.reason) });
  }
};

/** No agent has this id. */
const ADMIN_PLACEHOLDER = 'admin';

/** The requester, or an administrator. */
export const updateAsRequester = async (
  deps: Deps,
  caller: Caller,
  id: string,
  decide: Parameters<typeof updateTask>[4],
): Promise<Task> => {
  const done = await withResolvedTaskId(deps, caller.project, id, (taskId) =>
    updateTask(deps, caller.project, taskId, undefined, (task) => {
      const issue = checkRequester(caller, task, id);
      if (issue) return issue;
      return decide(task);
    }),
  );
  return done.outcome === 'changed' ? done.after : done.record;
};
