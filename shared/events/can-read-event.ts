import type { Caller } from '../identity/auth/authenticate.ts';
import { canUseChannel } from '../identity/channels.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { canReadTask } from '../tasks/queries/can-read-task.ts';

export const canReadEvent = (caller: Caller, { type, data }: ParleyEvent): boolean => {
  if (caller.role === 'admin' || isAgentEvent(type)) return true;
  if (typeof data.channel === 'string') return canUseChannel(caller, data.channel);
  const { from, to, agent: holder, status, domain, capability } = data;
  return canReadTask(caller, { from, to, holder, status, domain, capability });
};

const isAgentEvent = (type: string): boolean => type.startsWith('agent.');

/** Undefined if the event's own fields do not decide it. */
export const listNamedAgents = ({ type, data }: ParleyEvent): unknown[] | undefined => {
  if (isAgentEvent(type) || typeof data.channel === 'string') return undefined;
  if (data.status === 'requested' && data.to === undefined) return undefined;
  return [data.from, data.to, data.agent];
};
