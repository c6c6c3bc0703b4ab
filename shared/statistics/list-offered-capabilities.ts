import { type Agent, buildDomainWildcard, type CapabilitySchemas, listWholeDomains } from '../identity/agents/agent.ts';
import { findAgent } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { getDomain } from '../ports/queues.ts';
import { type FirstAgents, listFirstAgents } from './list-first-agents.ts';

export interface CapabilityProvider {
  agent: Agent;
  schemas: CapabilitySchemas;
}

export interface OfferedCapability {
  name: string;
  domain: string | undefined;
  providers: CapabilityProvider[];
}

interface CapabilityFilter {
  name?: string | undefined;
  domain?: string | undefined;
  agent?: string | undefined;
  limit: number;
  after?: string | undefined;
}

interface CapabilityPage {
  capabilities: OfferedCapability[];
  hasMore: boolean;
  /** False if there are more agents than one call looks at. */
  isComplete: boolean;
}

/** By name; `security.*` stands for a whole domain. */
export const listOfferedCapabilities = async (
  deps: Deps,
  project: string,
  { name, domain, agent, limit, after = '' }: CapabilityFilter,
): Promise<CapabilityPage> => {
  const { agents, isComplete } =
    agent === undefined ? await listFirstAgents(deps, project) : await findNamed(deps, project, agent);
  const offered = new Map<string, CapabilityProvider[]>();
  for (const one of agents) {
    for (const capability of listOffers(one)) {
      const providers = offered.get(capability) ?? [];
      providers.push({ agent: one, schemas: one.schemas?.[capability] ?? {} });
      offered.set(capability, providers);
    }
  }
  const wanted = [...offered]
    .map(([capability, providers]) => ({ name: capability, domain: getDomain(capability), providers }))
    .filter((one) => one.name > after && (name === undefined || one.name === name))
    .filter((one) => domain === undefined || one.domain === domain)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { capabilities: wanted.slice(0, limit), hasMore: wanted.length > limit, isComplete };
};

const listOffers = (agent: Agent): Set<string> =>
  new Set([...agent.capabilities, ...listWholeDomains(agent).map(buildDomainWildcard)]);

const findNamed = async (deps: Deps, project: string, id: string): Promise<FirstAgents> => {
  const known = await findAgent(deps, project, id);
  return { agents: known ? [known.agent] : [], isComplete: true };
};
