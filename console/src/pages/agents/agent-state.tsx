import type { Agent } from '../../api/types.ts';
import type { Tone } from '../../model/task-state.ts';
import { now } from '../../state/clock.ts';
import { Badge } from '../../ui/basics.tsx';

/** The last call is noted up to a minute late, and a poll may take twenty seconds. */
const ACTIVE_MS = 3 * 60_000;

const isActive = ({ health: { lastSeen } }: Agent): boolean =>
  lastSeen !== undefined && now.value - Date.parse(lastSeen) < ACTIVE_MS;

const toState = (agent: Agent): [label: string, tone: Tone] => {
  const { health, paused } = agent;
  if (paused) return ['paused', 'warn'];
  if (health.online === false) return ['offline', 'bad'];
  if (health.status !== undefined && !['ok', 'healthy', 'idle', 'online', 'ready', 'busy'].includes(health.status))
    return [health.status, 'warn'];
  if (health.online === undefined && isActive(agent)) return ['active', 'good'];
  if (health.online === undefined) return health.lastSeen === undefined ? ['never seen', 'muted'] : ['seen', 'idle'];
  return ['online', 'good'];
};

export const AgentState = ({ agent }: { agent: Agent }) => {
  const [label, tone] = toState(agent);
  return (
    <Badge tone={tone}>
      <span class="dot" />
      {label}
    </Badge>
  );
};

export const toAgentTone = (agent: Agent): Tone => toState(agent)[1];

export const isTroubled = (agent: Agent): boolean => toState(agent)[1] === 'bad';
