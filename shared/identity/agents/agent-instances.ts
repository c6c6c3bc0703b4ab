import { lessThan, notExists, or } from '../../ports/conditions.ts';
import type { Item, Ref } from '../../ports/records.ts';
import type { Deps } from '../deps.ts';
import type { Agent } from './agent.ts';

/** Expires without heartbeats or calls. */
interface AgentInstance extends Item {
  lastSeen: number;
}

const instancesPk = (project: string, agent: string): string => `${project}#instances#${agent}`;
const instanceRef = (project: string, agent: string, instance: string): Ref<AgentInstance> => ({
  pk: instancesPk(project, agent),
  sk: instance,
});

export const recordInstanceActivity = async (
  deps: Deps,
  { project, id }: Agent,
  instance: string,
  now = deps.clock.now(),
): Promise<void> => {
  const ref = instanceRef(project, id, instance);
  const { instanceMs } = deps.config.agents;
  const known = await deps.records.get(ref);
  const stale = now - instanceMs / 4;
  if (known && known.lastSeen > stale) return;
  const older = or(notExists('lastSeen'), lessThan('lastSeen', stale + 1));
  const expires = now + Math.max(instanceMs, deps.config.tasks.maxLeaseMs);
  const change = { if: older, set: { lastSeen: now, expires } };
  await deps.records.update(ref, change, deps.newId(), 'orCreate');
};

/** Epoch milliseconds; 0 for never. */
export const getInstanceLastSeen = async (
  deps: Deps,
  project: string,
  agent: string,
  instance: string,
): Promise<number> => (await deps.records.get(instanceRef(project, agent, instance)))?.lastSeen ?? 0;

export const isInstanceLive = async (deps: Deps, project: string, agent: string, instance: string): Promise<boolean> =>
  isWithinLiveWindow(deps, await getInstanceLastSeen(deps, project, agent, instance));

const isWithinLiveWindow = ({ clock, config }: Deps, lastSeen: number): boolean =>
  lastSeen + config.agents.instanceMs > clock.now();

const MAX_INSTANCES = 100;

export interface LiveInstance {
  id: string;
  lastSeen: number;
}

export const listLiveInstances = async (deps: Deps, { project, id }: Agent): Promise<LiveInstance[]> => {
  const instances = await deps.records.query<AgentInstance>({ pk: instancesPk(project, id), limit: MAX_INSTANCES });
  return instances
    .filter(({ lastSeen }) => isWithinLiveWindow(deps, lastSeen))
    .map(({ sk, lastSeen }) => ({ id: sk, lastSeen }));
};
