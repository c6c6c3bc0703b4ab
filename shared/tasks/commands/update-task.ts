import { isInstanceLive } from '../../identity/agents/agent-instances.ts';
import { isCapabilityDeclared, loadDomainProviders } from '../../identity/agents/domain-providers.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { capByAnswer, isHeld, type Task, taskRef } from '../../model/task.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import type { QueueMessage } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';
import { type UpdateResult, updateWithRetry } from '../../storage/update-with-retry.ts';
import { buildQueueMessages } from '../transitions/queue-messages.ts';
import {
  buildAnyInstanceChange,
  buildCapabilityQueueChange,
  isAnswerOverdue,
  timerTransition,
} from '../transitions/timeouts.ts';
import { findLeaseExtension } from './lease-extension.ts';

/** Changes one task by one conditional write, and hurries what must be queued after it. */
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

/**
 * The fast path: what the dispatcher will queue anyway is queued now, under the same deduplication id. Should it fail,
 * nothing is lost, because the change itself is on record and the dispatcher works it off.
 */
export const enqueueEagerly = (deps: Deps, change: RecordChange<Task>): Promise<void> | undefined => {
  // What goes to NATS could overtake what went before it, and rides the stream alone.
  const messages = buildQueueMessages(change).filter(({ queueKey }) => queueKey.kind !== 'relay');
  return messages.length === 0 ? undefined : trySendMessages(deps, change, messages);
};

const trySendMessages = async (deps: Deps, change: RecordChange<Task>, messages: QueueMessage[]): Promise<void> => {
  try {
    await deps.queues.send(messages);
  } catch (error) {
    deps.log('warn', 'eager enqueue failed, left to the dispatcher', {
      taskId: change.after?.id,
      error: String(error),
    });
  }
};

/**
 * What waits for one instance waits for any as soon as that one is gone, and what waits in its domain's queue waits in that of its
 * capability as soon as somebody declares it. A holder that lives keeps its work.
 */
const findTimerTransition = async (deps: Deps, task: Task): Promise<Change> => {
  const when = { now: deps.clock.now(), limits: deps.config.tasks };
  const { status, to, instance } = task;
  if (isHeld(task) && (task.leaseUntil ?? 0) <= when.now && !isAnswerOverdue(task, when.now)) {
    const leaseUntil = await findLeaseExtension(deps, task);
    return leaseUntil === undefined
      ? timerTransition(task, when)
      : { if: equals('v', task.v), set: { leaseUntil, due: capByAnswer(task, leaseUntil) } };
  }
  if (await isDeclaredMeanwhile(deps, task)) return buildCapabilityQueueChange(task, when);
  if (status !== 'requested' || to === undefined || instance === undefined) return timerTransition(task, when);
  if (!(await isInstanceLive(deps, task.project, to, instance))) return buildAnyInstanceChange(task, when);
  const change = timerTransition(task, when);
  const { due } = change.set ?? {};
  const soon = when.now + deps.config.agents.instanceMs;
  return typeof due === 'number' && due > soon ? { ...change, set: { ...change.set, due: soon } } : change;
};

const isDeclaredMeanwhile = async (deps: Deps, task: Task): Promise<boolean> => {
  const { project, status, to, domain, routingCapability, capability, deliveryTarget } = task;
  if (
    status !== 'requested' ||
    to !== undefined ||
    domain === undefined ||
    routingCapability !== undefined ||
    deliveryTarget
  )
    return false;
  return isCapabilityDeclared(await loadDomainProviders(deps, project, domain), capability);
};

/** What time alone does to a task whose due time has come. */
export const onTaskTimer = async (deps: Deps, task: Task): Promise<void> => {
  const change = await findTimerTransition(deps, task);
  const written = await deps.records.update(taskRef(task.project, task.id), change, deps.newId());
  if (written.outcome === 'written' && !written.replayed) await enqueueEagerly(deps, written);
};
