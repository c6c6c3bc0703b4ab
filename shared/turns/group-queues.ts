import { type Agent, skillsAmong } from '../agents/agent.ts';
import { channelsOf } from '../agents/channels.ts';
import { offerersOf } from '../agents/offerers.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { turnsPk } from './head.ts';
import { groupQueue, QUEUED, type QueuedTurn } from './turn.ts';

/** The queues of the groups that the agent belongs to, on the channels that it may use. Its registration bounds their number. */
export const groupQueuesOf = (agent: Agent): string[] =>
  skillsAmong(agent.capabilities).flatMap((group) => channelsOf(agent).map((channel) => groupQueue(group, channel)));

/** The oldest turn that waits for any agent of one of its groups, and so for this one: no group stands before another. */
export const queuedForGroups = async ({ records }: Deps, agent: Agent): Promise<QueuedTurn | undefined> => {
  const firsts = groupQueuesOf(agent).map((queue) =>
    records.query<QueuedTurn>({ p: turnsPk(agent.project, queue), prefix: QUEUED, limit: 1 }),
  );
  const [oldest] = (await Promise.all(firsts)).flat().toSorted((a, b) => (a.sk < b.sk ? -1 : 1));
  return oldest;
};

/** Some of the agents of a group that are wanted. Who has the capability and speaks another protocol gets tasks, and leases nothing. */
export const membersOf = async (
  deps: Deps,
  project: string,
  group: string,
  wantedOf: (page: Agent[]) => Agent[] | Promise<Agent[]> = (page) => page,
): Promise<string[]> => {
  const { agents } = await offerersOf(deps, project, group, (page) =>
    wantedOf(page.filter(({ dialect }) => dialectNamed(dialect).takesTurns)),
  );
  return agents.map(({ id }) => id);
};
