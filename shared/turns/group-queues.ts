import { type Agent, skillsAmong } from '../agents/agent.ts';
import { channelsOf, isOn } from '../agents/channels.ts';
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

/** Some of the agents of a group that are wanted. */
export const membersOf = async (
  deps: Deps,
  project: string,
  group: string,
  wantedOf: (page: Agent[]) => Agent[] | Promise<Agent[]>,
): Promise<string[]> => {
  const { agents } = await offerersOf(deps, project, group, (page) => wantedOf(page.filter(takesTurns)));
  return agents.map(({ id }) => id);
};

/** Who has the capability and speaks another protocol gets tasks, and leases nothing. */
const takesTurns = ({ dialect }: Agent): boolean => dialectNamed(dialect).takesTurns === true;

/** Whether there is such a group, and somebody in it who could take a turn on the channel. */
export const groupOn = async (
  deps: Deps,
  project: string,
  group: string,
  channel: string,
): Promise<'unknown' | 'closed' | 'open'> => {
  const anyOf = (isWanted: (agent: Agent) => boolean) =>
    offerersOf(deps, project, group, (page) => page.filter(takesTurns).filter(isWanted), 1);
  const { agents, areAllWanted } = await anyOf((agent) => isOn(agent, channel));
  if (agents.length > 0) return 'open';
  const isGroup = (await anyOf(() => true)).agents.length > 0;
  if (!isGroup) return 'unknown';
  // In a group that is too large to look through, somebody may be.
  return areAllWanted ? 'closed' : 'open';
};
