import { type Agent, skillsAmong } from '../agents/agent.ts';
import { channelsOf } from '../agents/channels.ts';
import type { Deps } from '../deps.ts';
import { turnsPk } from './head.ts';
import { groupQueue, QUEUED, type QueuedTurn } from './turn.ts';

/** The queues of the groups that the agent belongs to, on the channels that it may use. */
export const groupQueuesOf = (agent: Agent): string[] =>
  skillsAmong(agent.capabilities).flatMap((group) => channelsOf(agent).map((channel) => groupQueue(group, channel)));

/** What waits for any agent of a group, and so for this one. */
export const queuedForGroups = async ({ records }: Deps, agent: Agent): Promise<QueuedTurn | undefined> => {
  for (const queue of groupQueuesOf(agent)) {
    const [first] = await records.query<QueuedTurn>({ p: turnsPk(agent.project, queue), prefix: QUEUED, limit: 1 });
    if (first) return first;
  }
  return undefined;
};
