import type { Agent } from '../../api/types.ts';
import type { Tone } from '../../model/task-state.ts';
import { Badge } from '../../ui/basics.tsx';

const toState = ({ health, paused }: Agent): [label: string, tone: Tone] => {
  if (paused) return ['paused', 'warn'];
  if (health.online === false) return ['offline', 'bad'];
  if (health.status !== undefined && !['ok', 'healthy', 'idle', 'online', 'ready', 'busy'].includes(health.status))
    return [health.status, 'warn'];
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
