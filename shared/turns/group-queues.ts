import { type Agent, skillsAmong } from '../agents/agent.ts';
import { channelsOf } from '../agents/channels.ts';
import type { Deps } from '../deps.ts';
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
