import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Agent } from './agent.ts';
import type { Caller } from './authenticate.ts';
import { offerersOf } from './offerers.ts';

/** Who may see a turn and all that is said of it: everybody, one user, or one thread. */
export const CHANNEL_ID = /^(?:public|[ut]_[A-Za-z0-9_-]{1,64})$/;
export const PUBLIC = 'public';

export const channelsOf = ({ channels = [PUBLIC] }: Pick<Agent, 'channels'>): readonly string[] => channels;

/** All that the caller may use; undefined for every one. */
export const usableBy = (caller: Caller): readonly string[] | undefined =>
  caller.role === 'admin' ? undefined : channelsOf(caller.known.agent);

export const isOn = (agent: Pick<Agent, 'channels'>, channel: string): boolean => channelsOf(agent).includes(channel);

export const mayUse = (caller: Caller, channel: string): boolean =>
  caller.role === 'admin' || isOn(caller.known.agent, channel);

export const refuseOtherChannels = (agent: Agent, channel: string): void => {
  if (isOn(agent, channel)) return;
  throw new ParleyError(
    'channel_forbidden',
    `The agent ${agent.id} may not use the channel ${channel}. An administrator adds it to "channels" of its registration.`,
    { facts: { channel, channels: [...channelsOf(agent)] } },
  );
};

/** Some of the agents that have the capability and may use the channel. */
export const membersOn = async (deps: Deps, project: string, group: string, channel: string): Promise<string[]> => {
  const { agents } = await offerersOf(deps, project, group, (page) => page.filter((agent) => isOn(agent, channel)));
  return agents.map(({ id }) => id);
};

/** One of them, so that their work is shared out. */
export const oneOfMembers = (members: string[]): string | undefined =>
  members[Math.floor(Math.random() * members.length)];
