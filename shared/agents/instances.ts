import type { Deps } from '../deps.ts';
import { absent, any, below } from '../ports/conditions.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { Agent } from './agent.ts';

/** One of the processes that an agent runs as. It is there for as long as it counts as live. */
interface Instance extends Item {
  lastSeen: number;
}

const instancesPk = (project: string, agent: string): string => `${project}#instances#${agent}`;
const instanceRef = (project: string, agent: string, instance: string): Ref<Instance> => ({
  pk: instancesPk(project, agent),
  sk: instance,
});

/** A call in its name is a sign of life. It is written down a few times a period at most. */
export const sawInstance = async (deps: Deps, { project, id }: Agent, instance: string): Promise<void> => {
  const ref = instanceRef(project, id, instance);
  const { instanceMs } = deps.config.agents;
  const now = deps.clock.now();
  const known = await deps.records.get(ref);
  const stale = now - instanceMs / 4;
  if (known && known.lastSeen > stale) return;
  const older = any(absent('lastSeen'), below('lastSeen', stale + 1));
  const change = { if: older, set: { lastSeen: now, expires: now + instanceMs } };
  await deps.records.update(ref, change, deps.newId(), 'orCreate');
};

export const isLive = async (deps: Deps, project: string, agent: string, instance: string): Promise<boolean> =>
  (await deps.records.get(instanceRef(project, agent, instance))) !== undefined;

/** More than these are not told apart. */
const MOST = 100;

export const liveInstances = async (deps: Deps, { project, id }: Agent): Promise<string[]> =>
  (await deps.records.query<Instance>({ p: instancesPk(project, id), limit: MOST })).map(({ sk }) => sk);
