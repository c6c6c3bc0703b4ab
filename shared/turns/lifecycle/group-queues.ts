import { getDialect } from '../../dialects/registry.ts';
import { type Agent, listUnscopedCapabilities } from '../../identity/agents/agent.ts';
import { findProviders } from '../../identity/agents/capability-providers.ts';
import { getChannels } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { agentTurnsPk } from '../../model/agent-state.ts';
import { formatGroupQueueName, QUEUED_PREFIX, type QueuedTurn } from '../../model/turn.ts';

/** On the channels of the agent. The registration bounds their number. */
export const listGroupQueues = (agent: Agent): string[] =>
  listUnscopedCapabilities(agent.capabilities).flatMap((group) =>
    getChannels(agent).map((channel) => formatGroupQueueName(group, channel)),
  );

/** Over all its groups. */
export const findOldestGroupTurn = async ({ records }: Deps, agent: Agent): Promise<QueuedTurn | undefined> => {
  const firsts = listGroupQueues(agent).map((queue) =>
    records.query<QueuedTurn>({ pk: agentTurnsPk(agent.project, queue), prefix: QUEUED_PREFIX, limit: 1 }),
  );
  const [oldest] = (await Promise.all(firsts)).flat().toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
  return oldest;
};

/** Agents of a group that use turns. Others with the capability get tasks. */
export const listGroupMembers = async (
  deps: Deps,
  project: string,
  group: string,
  wantedOf: (page: Agent[]) => Agent[] | Promise<Agent[]> = (page) => page,
): Promise<string[]> => {
  const { agents } = await findProviders(deps, project, group, (page) =>
    wantedOf(page.filter(({ dialect }) => getDialect(dialect).usesTurns)),
  );
  return agents.map(({ id }) => id);
};
