import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { type Condition, equals, lessThan, notExists, or } from '../../ports/conditions.ts';
import type { Deps } from '../deps.ts';
import { type AgentHealth, healthRef, type RegisteredAgent } from './agent.ts';

export const getSilenceMs = ({ agents }: Config, { silentMs }: Pick<AgentHealth, 'silentMs'> = {}): number =>
  silentMs ?? agents.heartbeatMs * agents.silentPeriods;

export const isSeenBefore = (at: number): Condition => or(notExists('lastSeen'), lessThan('lastSeen', at + 1));

export const markOnline = (config: Config, health: Pick<AgentHealth, 'silentMs'> | undefined, now: number) => ({
  online: true,
  due: now + getSilenceMs(config, health),
});

/** With a long poll of 20 s on top, still shorter than any allowed silence. */
const getActivityWriteInterval = (config: Config, health: AgentHealth): number =>
  Math.min(config.agents.heartbeatMs / 4, getSilenceMs(config, health) / 6);

/**
 * Written at most a few times per period. A message counts at its send time: redeliveries by the relay are no sign of
 * life.
 */
export const shouldRecordActivity = (
  { clock, config }: Deps,
  { health }: RegisteredAgent,
  publishedAt = Number.POSITIVE_INFINITY,
): boolean => {
  const at = Math.min(publishedAt, clock.now());
  // Without heartbeats only the time is told, once in the period in which others send one.
  if (health?.sentAt === undefined) return at - (health?.lastSeen ?? 0) >= config.agents.heartbeatMs;
  if (health.online) return at - (health.lastSeen ?? 0) >= getActivityWriteInterval(config, health);
  return at > (health.lastSeen ?? 0) && clock.now() - at < getSilenceMs(config, health);
};

/** A full disk must not prevent reads. */
export const recordActivity = async (
  deps: Deps,
  registered: RegisteredAgent,
  publishedAt = Number.POSITIVE_INFINITY,
): Promise<void> => {
  try {
    await writeActivity(deps, registered, Math.min(publishedAt, deps.clock.now()));
  } catch (error) {
    if (!(error instanceof ParleyError && error.code === 'storage_full')) throw error;
  }
};

const writeActivity = async (deps: Deps, { agent, health }: RegisteredAgent, now: number): Promise<void> => {
  const ref = healthRef(agent.project, agent.id);
  if (health?.sentAt === undefined) {
    await deps.records.update(ref, { if: isSeenBefore(now), set: { lastSeen: now } }, deps.newId());
    deps.directory.invalidate(agent.project, agent.id);
    return;
  }
  const seen = await deps.records.update(ref, { if: equals('online', true), set: { lastSeen: now } }, deps.newId());
  if (seen.outcome === 'refused') {
    await deps.records.update(ref, { set: { lastSeen: now, ...markOnline(deps.config, health, now) } }, deps.newId());
  }
  deps.directory.invalidate(agent.project, agent.id);
};
