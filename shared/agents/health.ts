import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import type { Effect } from '../dispatch/effect.ts';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../json/json.ts';
import type { HeartbeatMessage } from '../messages/command.ts';
import { idReused } from '../messages/said-once.ts';
import { perform } from '../perform.ts';
import { absent, all, any, below, type Change, is, isNot } from '../ports/conditions.ts';
import type { RecordChange } from '../ports/records.ts';
import { relayedPresence } from '../relay/relayed.ts';
import { type Health, healthRef, type Known, type Saying } from './agent.ts';
import { orderDue, orderLapse, UNHEALTHY } from './orders.ts';

export interface Heartbeat {
  sentAt: number;
  status: string;
  capabilities?: string[];
  uptime?: number;
  activeTaskCount?: number;
  model?: string;
  version?: string;
  cpuUsage?: number;
  memoryMb?: number;
  silentMs?: number;
}

/** What a heartbeat may say; what the newest one does not say is no longer known. */
const SAID = [
  'capabilities',
  'uptime',
  'activeTaskCount',
  'model',
  'version',
  'cpuUsage',
  'memoryMb',
  'silentMs',
] as const;

const silenceMs = ({ agents }: Config, { silentMs }: Pick<Health, 'silentMs'> = {}): number =>
  silentMs ?? agents.heartbeatMs * agents.silentPeriods;

/** Keeps the newest of an agent's heartbeats, whatever order they arrive in. */
export const beat = async (
  deps: Deps,
  { agent }: Known,
  message: HeartbeatMessage,
): Promise<{ duplicate: boolean }> => {
  const { messageId: id, fingerprint, heartbeat } = message;
  const now = deps.clock.now();
  // A sender whose clock is ahead must not outdate its own later heartbeats.
  const sentAt = Math.min(heartbeat.sentAt, now);
  const set = { ...heartbeat, sentAt, lastSeen: now, beat: { id, fingerprint } };
  const unset = ['checkBy', ...SAID.filter((field) => heartbeat[field] === undefined)];
  const newer = all(any(absent('sentAt'), below('sentAt', sentAt)), isNot('beat.id', id));
  let duplicate = false;
  // While it is online, the timer that looks for silence runs already, and moving it would cost an index write.
  const online: Change = { if: all(is('online', true), newer), set, unset };
  await perform(deps.records, healthRef(agent.project, agent.id), deps.newId(), online, (health) => {
    if (!health) throw new ParleyError('agent_not_found', `The agent ${agent.id} is no longer registered.`);
    duplicate = health.beat?.id === id;
    if (duplicate && health.beat?.fingerprint !== fingerprint) throw idReused(message);
    if (duplicate || (health.sentAt !== undefined && health.sentAt >= sentAt)) return 'unchanged';
    return {
      if: is('v', health.v),
      set: { ...set, ...(health.online ? {} : wakened(deps.config, heartbeat, now)) },
      unset,
    };
  });
  deps.directory.forget(agent.project, agent.id);
  return { duplicate };
};

/** Keeps what an agent says of itself where that is about no task. */
export const say = async (deps: Deps, { agent }: Known, saying: Saying): Promise<void> => {
  const change = { set: { saying: { ...saying, at: deps.clock.now() } } };
  await deps.records.update(healthRef(agent.project, agent.id), change, deps.newId());
};

const wakened = (config: Config, health: Pick<Health, 'silentMs'> | undefined, now: number) => ({
  online: true,
  due: now + silenceMs(config, health),
});

/** A sign of life so soon after another is not written down. With a call of 20 s after it, that is still less than any silence. */
const unnotedMs = (config: Config, health: Health): number =>
  Math.min(config.agents.heartbeatMs / 4, silenceMs(config, health) / 6);

/** Any call is a sign of life of an agent that sends heartbeats; it is written down a few times a period at most. */
export const isSignOfLife = ({ clock, config }: Deps, { health }: Known): boolean =>
  health?.sentAt !== undefined && !(health.online && clock.now() - (health.lastSeen ?? 0) < unnotedMs(config, health));

export const noteAlive = async (deps: Deps, { agent, health }: Known): Promise<void> => {
  const now = deps.clock.now();
  const ref = healthRef(agent.project, agent.id);
  const seen = await deps.records.update(ref, { if: is('online', true), set: { lastSeen: now } }, deps.newId());
  if (seen.outcome === 'refused') {
    await deps.records.update(ref, { set: { lastSeen: now, ...wakened(deps.config, health, now) } }, deps.newId());
  }
  deps.directory.forget(agent.project, agent.id);
};

/** What time alone does to the health of an agent: too long a silence is offline, and orders lapse. */
const passed = (health: Health, config: Config, now: number): Change => {
  const silentAt = (health.lastSeen ?? 0) + silenceMs(config, health);
  const isSilent = health.online && silentAt <= now;
  const lapsed = orderLapse(health, now);
  const due = Math.min(orderDue(health, now), health.online && !isSilent ? silentAt : Infinity);
  const unwell = isSilent && health.silentMs !== undefined ? { status: UNHEALTHY } : {};
  return {
    if: is('v', health.v),
    set: { ...lapsed.set, ...(isSilent && { online: false, ...unwell }), ...(due < Infinity && { due }) },
    unset: [...(lapsed.unset ?? []), ...(due < Infinity ? [] : ['due'])],
  };
};

export const onHealthDue = async (deps: Deps, health: Health): Promise<void> => {
  const change = passed(health, deps.config, deps.clock.now());
  await deps.records.update(healthRef(health.project, health.agent), change, deps.newId());
  deps.directory.forget(health.project, health.agent);
};

/** What follows from one write to the health of an agent: it is announced when it comes, falls silent, is well or not, and rests. */
export const healthEffects = ({ before, after }: RecordChange<Health>): Effect[] => {
  if (!after) return [];
  const announced: [type: string, data: JsonObject][] = [];
  if ((before?.online ?? false) !== after.online) {
    announced.push([after.online ? 'agent.online' : 'agent.offline', { lastSeen: after.lastSeen }]);
  }
  if (isGraded(after) && before?.status !== after.status) {
    announced.push(['agent.health', { status: after.status, before: before?.status }]);
  }
  if (before?.rest?.since !== after.rest?.since || before?.rest?.action !== after.rest?.action) {
    announced.push([after.rest ? RESTS[after.rest.action] : 'agent.resumed', { ...after.rest }]);
  }
  const { project, agent, online: isOnline, at } = after;
  const told: Effect[] = announced.map(([type, data]) => ({
    kind: 'announce',
    event: {
      id: `agent/${after.agent}:${after.v}:${type}`,
      project: after.project,
      type,
      at: after.at,
      data: { agent: after.agent, ...data },
    },
  }));
  const hasChanged = (before?.online ?? false) !== isOnline;
  return hasChanged ? [...told, { kind: 'relay', message: relayedPresence(project, agent, isOnline, at) }] : told;
};

/** What others call their status says what they do, not how they are. */
const isGraded = ({ silentMs, status }: Health): boolean => silentMs !== undefined || status === UNHEALTHY;

const RESTS = { pause: 'agent.paused', stop: 'agent.stopped' } as const;
