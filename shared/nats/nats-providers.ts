import { hasRelay } from '../config/config.ts';
import { getDialect } from '../dialects/registry.ts';
import type { Agent } from '../identity/agents/agent.ts';
import { type CapabilityProviders, findProviders } from '../identity/agents/capability-providers.ts';
import type { Deps } from '../identity/deps.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import type { Task } from '../tasks/model/task.ts';

/** Whether the agent is given a task that carries this on NATS. Whoever leases it asks over HTTPS. */
export const isDeliveredOverNats = ({ via, dialect }: Agent, carried: JsonObject): boolean =>
  via === 'nats' && !getDialect(dialect).natsBinding?.usesLease?.(carried);

const findNatsProviders = (
  deps: Deps,
  project: string,
  capability: string,
  carried: JsonObject,
): Promise<CapabilityProviders> =>
  findProviders(deps, project, capability, (page) => page.filter((agent) => isDeliveredOverNats(agent, carried)));

/**
 * How those on NATS who have a capability, which belongs to no domain, are given a task: alone, or beside others who ask for it over
 * HTTP; undefined where there are none.
 */
export const resolveNatsDelivery = async (
  deps: Deps,
  project: string,
  capability: string,
  carried: JsonObject,
): Promise<Task['toNats']> => {
  if (!hasRelay(deps.config, project)) return undefined;
  const { agents, isExhaustive } = await findNatsProviders(deps, project, capability, carried);
  if (agents.length === 0) return undefined;
  return isExhaustive ? true : 'too';
};

/** Those on NATS who have the capability of the task and have not said that they cannot do it. */
export const listNatsProviders = async (
  deps: Deps,
  { project, skill = '', carried, unable = [] }: Pick<Task, 'project' | 'skill' | 'carried' | 'unable'>,
): Promise<Agent[]> => {
  const { agents } = await findNatsProviders(deps, project, skill, carried);
  return agents.filter(({ id }) => !unable.includes(id));
};
