import { type AgentHealth, healthRef } from '../../identity/agents/agent.ts';
import { getInstanceLastSeen, isInstanceLive } from '../../identity/agents/agent-instances.ts';
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

/**
 * Until when a task whose lease is over stays with its holder, because that has given a sign of life within the last lease;
 * undefined where it has not. Looked at when the lease ends, so that no heartbeat costs a write of its own.
 */
const findLeaseExtension = async (deps: Deps, task: Task): Promise<number | undefined> => {
  const { project, holder, holderInstance } = task;
  if (holder === undefined) return undefined;
  const health = await deps.records.get(healthRef(project, holder));
  if (!health) return undefined;
  const isOfAnother =
    holderInstance !== undefined && health.instance !== undefined && health.instance !== holderInstance;
  if (!isOfAnother && isReportedIdle(health, task)) return undefined;
  const seen =
    holderInstance !== undefined && health.instance !== undefined
      ? await getInstanceLastSeen(deps, project, holder, holderInstance)
      : Math.max(health.lastHeartbeat?.at ?? 0, health.statusReport?.at ?? 0);
  const { leaseMs, maxSilentWorkMs } = deps.config.tasks;
  const until = Math.min(seen + (task.leaseMs ?? leaseMs), getLastReportAt(task) + maxSilentWorkMs);
  return until > deps.clock.now() ? until : undefined;
};

/** A process that works on nothing, or began after the claim, does not work on this: its predecessor died with it. */
const isReportedIdle = ({ activeTaskCount, uptime, lastHeartbeat }: AgentHealth, { claimedAt = 0 }: Task): boolean => {
  if (activeTaskCount === 0) return true;
  return (
    uptime !== undefined &&
    lastHeartbeat?.at !== undefined &&
    lastHeartbeat.at - uptime * 1000 > claimedAt + HEARTBEAT_TOLERANCE_MS
  );
};

/** Uptimes are rounded, and a heartbeat takes its time to come. */
const HEARTBEAT_TOLERANCE_MS = 5000;

/** What is said of a task, by its holder or in answer to it, bounds how long heartbeats alone keep it. */
const getLastReportAt = ({ claimedAt = 0, progress, lastAnswer }: Task): number =>
  Math.max(claimedAt, progress?.at ?? 0, lastAnswer?.at ?? 0);
