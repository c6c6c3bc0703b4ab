import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Agent } from './agent.ts';
import type { Caller } from './authenticate.ts';
import { offeredBy } from './capabilities.ts';

/** Who may see a turn and all that is said of it: everybody, one user, or one thread. */
export const CHANNEL_ID = /^(?:public|[ut]_[A-Za-z0-9_-]{1,64})$/;
export const PUBLIC = 'public';

export const channelsOf = ({ channels = [PUBLIC] }: Pick<Agent, 'channels'>): readonly string[] => channels;

/** All that the caller may use; undefined for every one. */
export const usableBy = (caller: Caller): readonly string[] | undefined =>
  caller.role === 'admin' ? undefined : channelsOf(caller.known.agent);

export const mayUse = (caller: Caller, channel: string): boolean =>
  caller.role === 'admin' || channelsOf(caller.known.agent).includes(channel);

export const refuseOtherChannels = (agent: Agent, channel: string): void => {
  const channels = channelsOf(agent);
  if (channels.includes(channel)) return;
  throw new ParleyError(
    'channel_forbidden',
    `The agent ${agent.id} may not use the channel ${channel}. An administrator adds it to "channels" of its registration.`,
    { facts: { channel, channels: [...channels] } },
  );
};

/** How many agents of a group are looked at, to find those that may use a channel. */
const GROUP_LOOK = 20;

/** Agents that have the capability and may use the channel. */
export const membersOn = async (deps: Deps, project: string, group: string, channel: string): Promise<string[]> => {
  const ids = await offeredBy(deps.records, project, group, GROUP_LOOK);
  const known = await Promise.all(ids.map((id) => deps.directory.agent(project, id)));
  return known.flatMap((one) => (one && channelsOf(one.agent).includes(channel) ? [one.agent.id] : []));
};

/** One of them, so that their work is shared out. */
export const oneOfMembers = (members: string[]): string | undefined =>
  members[Math.floor(Math.random() * members.length)];
