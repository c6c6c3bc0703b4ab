import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import { and, type Change, equals, lessThan, notEquals, notExists, or } from '../../ports/conditions.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import type { Deps } from '../deps.ts';
import { type AgentHealth, healthRef, type RegisteredAgent, type StatusReport } from './agent.ts';
import { getSilenceMs, isSeenBefore, markOnline } from './agent-activity.ts';
import { buildControlExpiry, computeControlDue, UNHEALTHY } from './agent-control.ts';
import { recordInstanceActivity } from './agent-instances.ts';

export interface Heartbeat {
  sentAt: number;
  status?: string;
  capabilities?: string[];
  uptime?: number;
  activeTaskCount?: number;
  model?: string;
  version?: string;
  cpuUsage?: number;
  memoryMb?: number;
  silentMs?: number;
  instance?: string;
}

/** Fields missing in the newest heartbeat are unset. */
const HEARTBEAT_FIELDS = [
  'status',
  'capabilities',
  'uptime',
  'activeTaskCount',
  'model',
  'version',
  'cpuUsage',
  'memoryMb',
  'silentMs',
  'instance',
] as const;

/** Keeps the newest by send time, whatever the order of arrival. */
export const recordHeartbeat = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  message: { messageId: string; givenId?: string; fingerprint: string; heartbeat: Heartbeat },
  publishedAt = Number.POSITIVE_INFINITY,
): Promise<{ duplicate: boolean }> => {
  const { messageId: id, fingerprint, heartbeat } = message;
  const now = deps.clock.now();
  // A sender with a fast clock must not outdate its own later heartbeats.
  const sentAt = Math.min(heartbeat.sentAt, now);
  const at = Math.min(publishedAt, now);
  const set = { ...heartbeat, sentAt, lastSeen: at, lastHeartbeat: { id, fingerprint, at } };
  const unset = ['checkBy', ...HEARTBEAT_FIELDS.filter((field) => heartbeat[field] === undefined)];
  const newer = and(or(notExists('sentAt'), lessThan('sentAt', sentAt)), notEquals('lastHeartbeat.id', id));
  let duplicate = false;
  // While the agent is online its timer already runs; moving it would cost an index write.
  const online: Change = { if: and(equals('online', true), newer, isSeenBefore(at)), set, unset };
  await updateWithRetry(deps.records, healthRef(agent.project, agent.id), deps.newId(), online, (health) => {
    if (!health) throw new ParleyError('agent_not_found', `The agent ${agent.id} is no longer registered.`);
    duplicate = health.lastHeartbeat?.id === id;
    if (duplicate) assertSameMessage(health.lastHeartbeat, message);
    if (duplicate || (health.sentAt !== undefined && health.sentAt >= sentAt)) return 'unchanged';
    const lastSeen = Math.max(health.lastSeen ?? 0, at);
    const isAlive = now - lastSeen < getSilenceMs(deps.config, heartbeat);
    const awake = health.online || !isAlive ? {} : markOnline(deps.config, heartbeat, lastSeen);
    return { if: equals('v', health.v), set: { ...set, lastSeen, ...awake }, unset };
  });
  deps.directory.invalidate(agent.project, agent.id);
  if (heartbeat.instance !== undefined && !duplicate) await recordInstanceActivity(deps, agent, heartbeat.instance, at);
  return { duplicate };
};

export const recordStatusReport = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  statusReport: StatusReport,
  publishedAt = Number.POSITIVE_INFINITY,
): Promise<void> => {
  const change = { set: { statusReport: { ...statusReport, at: Math.min(publishedAt, deps.clock.now()) } } };
  await deps.records.update(healthRef(agent.project, agent.id), change, deps.newId());
};

const buildHealthTimerChange = (health: AgentHealth, config: Config, now: number): Change => {
  const silentAt = (health.lastSeen ?? 0) + getSilenceMs(config, health);
  const isSilent = health.online && silentAt <= now;
  const lapsed = buildControlExpiry(health, now);
  const due = Math.min(computeControlDue(health, now), health.online && !isSilent ? silentAt : Infinity);
  const unwell = isSilent && health.silentMs !== undefined ? { status: UNHEALTHY } : {};
  return {
    if: equals('v', health.v),
    set: { ...lapsed.set, ...(isSilent && { online: false, ...unwell }), ...(due < Infinity && { due }) },
    unset: [...(lapsed.unset ?? []), ...(due < Infinity ? [] : ['due'])],
  };
};

export const onHealthTimer = async (deps: Deps, health: AgentHealth): Promise<void> => {
  const change = buildHealthTimerChange(health, deps.config, deps.clock.now());
  await deps.records.update(healthRef(health.project, health.agent), change, deps.newId());
  deps.directory.invalidate(health.project, health.agent);
};
