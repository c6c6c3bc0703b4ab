import { ParleyError } from '../errors.ts';
import type { Agent } from './agent.ts';
import type { Caller } from './authenticate.ts';

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
