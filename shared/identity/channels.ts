import { ParleyError } from '../kernel/errors.ts';
import { PUBLIC_CHANNEL } from '../kernel/ids.ts';
import type { Agent } from './agents/agent.ts';
import { findProviders } from './agents/capability-providers.ts';
import type { Caller } from './auth/authenticate.ts';
import type { Deps } from './deps.ts';

export const getChannels = ({ channels = [PUBLIC_CHANNEL] }: Pick<Agent, 'channels'>): readonly string[] => channels;

/** Undefined: all channels. */
export const listUsableChannels = (caller: Caller): readonly string[] | undefined =>
  caller.role === 'admin' ? undefined : getChannels(caller.registered.agent);

export const isChannelMember = (agent: Pick<Agent, 'channels'>, channel: string): boolean =>
  getChannels(agent).includes(channel);

export const canUseChannel = (caller: Caller, channel: string): boolean =>
  caller.role === 'admin' || isChannelMember(caller.registered.agent, channel);

export const assertChannelAccess = (agent: Agent, channel: string): void => {
  if (isChannelMember(agent, channel)) return;
  throw new ParleyError(
    'channel_forbidden',
    `The agent ${agent.id} may not use the channel ${channel}. An administrator adds it to "channels" of its registration.`,
    { details: { channel, channels: [...getChannels(agent)] } },
  );
};

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

export const pickRandomMember = (members: string[]): string | undefined =>
  members[Math.floor(Math.random() * members.length)];
