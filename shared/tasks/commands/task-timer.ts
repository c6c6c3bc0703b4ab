import { type AgentHealth, healthRef } from '../../identity/agents/agent.ts';
import { getInstanceLastSeen, isInstanceLive } from '../../identity/agents/agent-instances.ts';
import { isCapabilityDeclared, loadDomainProviders } from '../../identity/agents/domain-providers.ts';
import type { Deps } from '../../identity/deps.ts';
import { capByAnswer, isHeld, type Task, taskRef } from '../../model/task.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { toTransitionContext } from '../transitions/end-and-requeue.ts';
import {
  buildAnyInstanceChange,
  buildCapabilityQueueChange,
  isAnswerOverdue,
  timerTransition,
} from '../transitions/timeouts.ts';
import { enqueueEagerly } from './enqueue-task.ts';

/**
 * A task for one instance goes to any instance when that one is gone. A task in the queue of its domain goes to the
 * queue of its capability when an agent declares it. A live holder keeps its task.
 */
const findTimerTransition = async (deps: Deps, task: Task): Promise<Change> => {
  const when = toTransitionContext(deps);
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

export const onTaskTimer = async (deps: Deps, task: Task): Promise<void> => {
  const change = await findTimerTransition(deps, task);
  const written = await deps.records.update(taskRef(task.project, task.id), change, deps.newId());
  if (written.outcome === 'written' && !written.replayed) await enqueueEagerly(deps, written);
};

/**
 * The lease of a holder that was alive during its last lease, or undefined. Computed when the lease ends, so
 * heartbeats cost no write.
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

/** A process that is idle, or started after the claim, does not work on the task. */
const isReportedIdle = ({ activeTaskCount, uptime, lastHeartbeat }: AgentHealth, { claimedAt = 0 }: Task): boolean => {
  if (activeTaskCount === 0) return true;
  return (
    uptime !== undefined &&
    lastHeartbeat?.at !== undefined &&
    lastHeartbeat.at - uptime * 1000 > claimedAt + HEARTBEAT_TOLERANCE_MS
  );
};

/** Uptimes are rounded, and heartbeats take time. */
const HEARTBEAT_TOLERANCE_MS = 5000;

/** Heartbeats alone keep a task only for a limited time after the last report or answer. */
const getLastReportAt = ({ claimedAt = 0, progress, lastAnswer }: Task): number =>
  Math.max(claimedAt, progress?.at ?? 0, lastAnswer?.at ?? 0);
