import type { AgentHealth } from '../identity/agents/agent.ts';
import { UNHEALTHY } from '../identity/agents/agent-control.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { Effect } from '../model/effect.ts';
import { buildPresenceRelay } from '../nats/relay-item.ts';
import type { EventType } from '../ports/event-types.ts';
import type { RecordChange } from '../ports/records.ts';

const PAUSE_EVENTS = { pause: 'agent.paused', drain: 'agent.draining', stop: 'agent.stopped' } as const;

/** Publishes that an agent came online or went offline, its health, and its pause. */
export const computeHealthEffects = ({ before, after }: RecordChange<AgentHealth>): Effect[] => {
  if (!after) return [];
  const announced: [type: EventType, data: JsonObject][] = [];
  if ((before?.online ?? false) !== after.online) {
    announced.push([after.online ? 'agent.online' : 'agent.offline', { lastSeen: after.lastSeen }]);
  }
  if (hasHealthGrade(after) && before?.status !== after.status) {
    announced.push(['agent.health', { status: after.status, before: before?.status }]);
  }
  if (before?.pause?.since !== after.pause?.since || before?.pause?.action !== after.pause?.action) {
    announced.push([after.pause ? PAUSE_EVENTS[after.pause.action] : 'agent.resumed', { ...after.pause }]);
  }
  const { project, agent, online: isOnline, at } = after;
  const published: Effect[] = announced.map(([type, data]) => ({
    kind: 'publish',
    event: {
      id: `agent/${after.agent}:${after.v}:${type}`,
      project: after.project,
      type,
      at: after.at,
      data: { agent: after.agent, ...data },
    },
  }));
  const hasChanged = (before?.online ?? false) !== isOnline;
  return hasChanged
    ? [...published, { kind: 'relay', message: buildPresenceRelay(project, agent, isOnline, at) }]
    : published;
};

/** For other agents the status is an activity, not their health. */
const hasHealthGrade = ({ silentMs, status }: AgentHealth): boolean => silentMs !== undefined || status === UNHEALTHY;
