import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { perform } from '../perform.ts';
import { absent, all, any, below, type Change, is } from '../ports/conditions.ts';
import type { RecordChange } from '../ports/records.ts';
import type { Effect } from '../tasks/effects.ts';
import { type Health, healthRef, type Known } from './agent.ts';

export interface Heartbeat {
  sentAt: number;
  status: string;
  capabilities: string[];
  uptime?: number;
  activeTaskCount?: number;
  model?: string;
  version?: string;
}

/** What a heartbeat may say; what the newest one does not say is no longer known. */
const SAID = ['uptime', 'activeTaskCount', 'model', 'version'] as const;

const silentMs = ({ agents }: Config): number => agents.heartbeatMs * agents.silentPeriods;

/** Keeps the newest of an agent's heartbeats, whatever order they arrive in. */
export const beat = async (deps: Deps, { agent }: Known, heartbeat: Heartbeat): Promise<void> => {
  const now = deps.clock.now();
  // A sender whose clock is ahead must not outdate its own later heartbeats.
  const sentAt = Math.min(heartbeat.sentAt, now);
  const set = { ...heartbeat, sentAt, lastSeen: now };
  const unset = SAID.filter((field) => heartbeat[field] === undefined);
  const newer = any(absent('sentAt'), below('sentAt', sentAt));
  // While it is online, the timer that looks for silence runs already, and moving it would cost an index write.
  const online: Change = { if: all(is('online', true), newer), set, unset };
  await perform(deps.records, healthRef(agent.project, agent.id), deps.newId(), online, (health) => {
    if (!health) throw new ParleyError('agent_not_found', `The agent ${agent.id} is no longer registered.`);
    if (health.sentAt !== undefined && health.sentAt >= sentAt) return 'unchanged';
    return { if: is('v', health.v), set: { ...set, ...(health.online ? {} : wakened(deps.config, now)) }, unset };
  });
  deps.directory.forget(agent.project, agent.id);
};

const wakened = (config: Config, now: number) => ({ online: true, due: now + silentMs(config) });

/** Any call is a sign of life of an agent that sends heartbeats; it is written down a few times a period at most. */
export const alive = async (deps: Deps, { agent, health }: Known): Promise<void> => {
  const now = deps.clock.now();
  if (health?.sentAt === undefined) return;
  if (health.online && now - (health.lastSeen ?? 0) < deps.config.agents.heartbeatMs / 4) return;
  const ref = healthRef(agent.project, agent.id);
  const seen = await deps.records.update(ref, { if: is('online', true), set: { lastSeen: now } }, deps.newId());
  if (seen.outcome === 'refused') {
    await deps.records.update(ref, { set: { lastSeen: now, ...wakened(deps.config, now) } }, deps.newId());
  }
  deps.directory.forget(agent.project, agent.id);
};

/** What time alone does to the health of an agent: too long a silence is offline. */
const silence = (health: Health, config: Config, now: number): Change => {
  const silentAt = (health.lastSeen ?? 0) + silentMs(config);
  const change: Change = silentAt > now ? { set: { due: silentAt } } : { set: { online: false }, unset: ['due'] };
  return { ...change, if: is('v', health.v) };
};

export const onHealthDue = async (deps: Deps, health: Health): Promise<void> => {
  const change = silence(health, deps.config, deps.clock.now());
  await deps.records.update(healthRef(health.project, health.agent), change, deps.newId());
  deps.directory.forget(health.project, health.agent);
};

/** What follows from one write to the health of an agent: it is announced when it comes and when it falls silent. */
export const healthEffects = ({ before, after }: RecordChange<Health>): Effect[] => {
  if (!after || (before?.online ?? false) === after.online) return [];
  const type = after.online ? 'agent.online' : 'agent.offline';
  const event = {
    id: `agent/${after.agent}:${after.v}:${type}`,
    project: after.project,
    type,
    at: after.at,
    data: { agent: after.agent, lastSeen: after.lastSeen },
  };
  return [{ kind: 'announce', event }];
};
