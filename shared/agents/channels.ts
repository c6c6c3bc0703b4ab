import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Agent } from './agent.ts';
import type { Caller } from './authenticate.ts';
import { findProviders } from './capability-providers.ts';

/** Who may see a turn and all that is said of it: everybody, one user, or one thread. */
export const CHANNEL_ID = /^(?:public|[ut]_[A-Za-z0-9_-]{1,64})$/;
export const PUBLIC_CHANNEL = 'public';

export const getChannels = ({ channels = [PUBLIC_CHANNEL] }: Pick<Agent, 'channels'>): readonly string[] => channels;

/** All that the caller may use; undefined for every one. */
export const listUsableChannels = (caller: Caller): readonly string[] | undefined =>
  caller.role === 'admin' ? undefined : getChannels(caller.known.agent);

export const isChannelMember = (agent: Pick<Agent, 'channels'>, channel: string): boolean =>
  getChannels(agent).includes(channel);

export const canUseChannel = (caller: Caller, channel: string): boolean =>
  caller.role === 'admin' || isChannelMember(caller.known.agent, channel);

export const assertChannelAccess = (agent: Agent, channel: string): void => {
  if (isChannelMember(agent, channel)) return;
  throw new ParleyError(
    'channel_forbidden',
    `The agent ${agent.id} may not use the channel ${channel}. An administrator adds it to "channels" of its registration.`,
    { facts: { channel, channels: [...getChannels(agent)] } },
  );
};

/** Some of the agents that have the capability and may use the channel. */
export const listChannelMembers = async (
  deps: Deps,
  project: string,
  group: string,
  channel: string,
): Promise<string[]> => {
  const { agents } = await findProviders(deps, project, group, (page) =>
    page.filter((agent) => isChannelMember(agent, channel)),
  );
  return agents.map(({ id }) => id);
};

/** One of them, so that their work is shared out. */
export const pickRandomMember = (members: string[]): string | undefined =>
  members[Math.floor(Math.random() * members.length)];
