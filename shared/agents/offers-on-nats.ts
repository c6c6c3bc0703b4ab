import { hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { JsonObject } from '../json/json.ts';
import type { Task } from '../tasks/task.ts';
import type { Agent } from './agent.ts';
import { offeredBy } from './capabilities.ts';

/** So many of those who have a capability are looked at. */
const MOST = 25;

const offerers = async (deps: Deps, project: string, capability: string): Promise<Agent[]> => {
  const ids = await offeredBy(deps.records, project, capability, MOST);
  const known = await Promise.all(ids.map((id) => deps.directory.agent(project, id)));
  return known.flatMap((one) => one?.agent ?? []);
};

/** Whether the agent is given a task that carries this on NATS. Whoever leases it asks over HTTPS. */
export const isGivenOnNats = ({ via, dialect }: Agent, carried: JsonObject): boolean =>
  via === 'nats' && !dialectNamed(dialect).onNats?.leases?.(carried);

/**
 * How those on NATS who have a capability, which belongs to no domain, are given a task: alone, or beside others who ask for it over
 * HTTP; undefined where there are none.
 */
export const offersOnNats = async (
  deps: Deps,
  project: string,
  capability: string,
  carried: JsonObject,
): Promise<Task['toNats']> => {
  if (!hasRelay(deps.config, project)) return undefined;
  const agents = await offerers(deps, project, capability);
  const onNats = agents.filter((agent) => isGivenOnNats(agent, carried));
  if (onNats.length === 0) return undefined;
  // Of those who were not looked at, some may ask.
  return onNats.length === agents.length && agents.length < MOST ? true : 'too';
};

/** Whose turn it is of those on NATS who have the capability. */
export const offererOnNats = async (
  deps: Deps,
  project: string,
  { skill = '', carried }: Pick<Task, 'skill' | 'carried'>,
  turn: number,
): Promise<Agent | undefined> => {
  const agents = (await offerers(deps, project, skill)).filter((agent) => isGivenOnNats(agent, carried));
  return agents[turn % agents.length];
};
