import { hasRelay } from '../../config/project-settings.ts';
import { getAgentDialect } from '../../dialects/registry.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import { type CapabilityProviders, findProviders } from '../../identity/agents/capability-providers.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import type { Task } from '../../model/task.ts';

/** Whether the agent gets such a task on NATS. Agents that lease ask over HTTPS. */
export const isDeliveredOverNats = (agent: Agent, extensions: JsonObject): boolean =>
  agent.transport === 'nats' && !getAgentDialect(agent).natsBinding?.usesLease?.(extensions);

const findNatsProviders = (
  deps: Deps,
  project: string,
  capability: string,
  extensions: JsonObject,
): Promise<CapabilityProviders> =>
  findProviders(deps, project, capability, (page) => page.filter((agent) => isDeliveredOverNats(agent, extensions)));

/** For a capability without a domain: `nats` or `both`, or undefined without providers on NATS. */
export const resolveNatsDelivery = async (
  deps: Deps,
  project: string,
  capability: string,
  extensions: JsonObject,
): Promise<Task['deliveryTarget']> => {
  if (!hasRelay(deps.config, project)) return undefined;
  const { agents, isExhaustive } = await findNatsProviders(deps, project, capability, extensions);
  if (agents.length === 0) return undefined;
  return isExhaustive ? 'nats' : 'both';
};

/** Providers on NATS that have not declined the task. */
export const listNatsProviders = async (
  deps: Deps,
  {
    project,
    routingCapability = '',
    extensions,
    declinedBy = [],
  }: Pick<Task, 'project' | 'routingCapability' | 'extensions' | 'declinedBy'>,
): Promise<Agent[]> => {
  const { agents } = await findNatsProviders(deps, project, routingCapability, extensions);
  return agents.filter(({ id }) => !declinedBy.includes(id));
};
