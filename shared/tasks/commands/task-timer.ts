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
 * What waits for one instance waits for any as soon as that one is gone, and what waits in its domain's queue waits in that of its
 * capability as soon as somebody declares it. A holder that lives keeps its work.
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
