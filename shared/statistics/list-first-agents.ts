import { type Agent, agentsKey } from '../identity/agents/agent.ts';
import type { Deps } from '../identity/deps.ts';

/** Agents that one call looks at. */
const MAX_AGENTS = 500;
const AGENT_PAGE = 100;

export interface FirstAgents {
  agents: Agent[];
  /** False if there are more. */
  isComplete: boolean;
}

/** By id. */
export const listFirstAgents = async ({ records }: Deps, project: string): Promise<FirstAgents> => {
  const agents: Agent[] = [];
  while (agents.length < MAX_AGENTS) {
    const page: Agent[] = await records.query<Agent>({
      index: 'byList',
      pk: agentsKey(project),
      after: agents.at(-1)?.id,
      limit: AGENT_PAGE,
    });
    agents.push(...page);
    if (page.length < AGENT_PAGE) return { agents, isComplete: true };
  }
  return { agents, isComplete: false };
};
