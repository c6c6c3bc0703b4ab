import { hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import type { Agent } from './agent.ts';
import { offeredBy } from './capabilities.ts';

/** So many of those who have a capability are looked at. */
const MOST = 25;

const offerers = async (deps: Deps, project: string, capability: string): Promise<Agent[]> => {
  const ids = await offeredBy(deps.records, project, capability, MOST);
  const known = await Promise.all(ids.map((id) => deps.directory.agent(project, id)));
  return known.flatMap((one) => one?.agent ?? []);
};

/** Whether nobody who has the capability, which belongs to no domain, asks for tasks over HTTP. */
export const isOfferedOnNatsOnly = async (deps: Deps, project: string, capability: string): Promise<boolean> => {
  if (!hasRelay(deps.config, project)) return false;
  const agents = await offerers(deps, project, capability);
  return agents.length > 0 && agents.every(({ via }) => via === 'nats');
};

/** Whose turn it is of those on NATS who have the capability. */
export const offererOnNats = async (
  deps: Deps,
  project: string,
  capability: string,
  turn: number,
): Promise<Agent | undefined> => {
  const agents = (await offerers(deps, project, capability)).filter(({ via }) => via === 'nats');
  return agents[turn % agents.length];
};
