import { hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { JsonObject } from '../json/json.ts';
import type { Task } from '../tasks/task.ts';
import type { Agent } from './agent.ts';
import { type Offerers, offerersOf } from './offerers.ts';

/** Whether the agent is given a task that carries this on NATS. Whoever leases it asks over HTTPS. */
export const isGivenOnNats = ({ via, dialect }: Agent, carried: JsonObject): boolean =>
  via === 'nats' && !dialectNamed(dialect).onNats?.leases?.(carried);

const offerers = (deps: Deps, project: string, capability: string, carried: JsonObject): Promise<Offerers> =>
  offerersOf(deps, project, capability, (page) => page.filter((agent) => isGivenOnNats(agent, carried)));

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
  const { agents, areAll } = await offerers(deps, project, capability, carried);
  if (agents.length === 0) return undefined;
  return areAll ? true : 'too';
};

/** Whose turn it is of those on NATS who have the capability. */
export const offererOnNats = async (
  deps: Deps,
  project: string,
  { skill = '', carried }: Pick<Task, 'skill' | 'carried'>,
  turn: number,
): Promise<Agent | undefined> => {
  const { agents } = await offerers(deps, project, skill, carried);
  return agents[turn % agents.length];
};
