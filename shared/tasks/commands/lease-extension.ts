import { type AgentHealth, healthRef } from '../../identity/agents/agent.ts';
import { getInstanceLastSeen } from '../../identity/agents/agent-instances.ts';
import type { Deps } from '../../identity/deps.ts';
import type { Task } from '../../model/task.ts';

/**
 * Until when a task whose lease is over stays with its holder, because that has given a sign of life within the last lease;
 * undefined where it has not. Looked at when the lease ends, so that no heartbeat costs a write of its own.
 */
export const findLeaseExtension = async (deps: Deps, task: Task): Promise<number | undefined> => {
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
