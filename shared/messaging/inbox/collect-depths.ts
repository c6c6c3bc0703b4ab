import { type Agent, agentsKey } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import type { Collector, MetricRegistry } from '../../kernel/metric-registry.ts';
import { inboxDepthRef } from './bounded-inbox.ts';

const PAGE_SIZE = 100;

/**
 * What waits in bounded inboxes. This process sees each message that comes; what was there before it began, and what was read since, is
 * looked up when somebody asks. An inbox that stays empty is shown once more and then left out.
 */
export const createDepthCollector = (deps: Pick<Deps, 'records'>, metrics: MetricRegistry): Collector => {
  const begun = new Set<string>();
  const refresh = async (project: string, agents: string[]): Promise<void> => {
    const refs = agents.map((agent) => inboxDepthRef(project, agent));
    const depths = await deps.records.getMany(refs);
    for (const [at, agent] of agents.entries()) {
      const found = depths.find(({ pk }) => pk === refs[at]?.pk);
      if (found) metrics.record('inbox_depth', found.count, { project, agent });
    }
  };
  return async (project) => {
    if (!begun.has(project)) await forEachAgentPage(deps, project, (agents) => refresh(project, agents));
    begun.add(project);
    const shown = metrics.listValues('inbox_depth', project);
    const agents = shown.map(([{ agent = '' }]) => agent);
    for (let at = 0; at < agents.length; at += PAGE_SIZE) await refresh(project, agents.slice(at, at + PAGE_SIZE));
    const filled = new Set(
      metrics.listValues('inbox_depth', project).flatMap(([{ agent }, depth]) => (depth ? agent : [])),
    );
    for (const [labels, depth] of shown) {
      if (depth === 0 && !filled.has(labels.agent)) metrics.remove('inbox_depth', labels);
    }
  };
};

const forEachAgentPage = async (
  { records }: Pick<Deps, 'records'>,
  project: string,
  visit: (agents: string[]) => Promise<void>,
): Promise<void> => {
  let after: string | undefined;
  do {
    const page: Agent[] = await records.query<Agent>({
      index: 'byList',
      pk: agentsKey(project),
      after,
      limit: PAGE_SIZE,
    });
    await visit(page.filter(({ inboxLimit }) => inboxLimit !== undefined).map(({ id }) => id));
    after = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined;
  } while (after !== undefined);
};
