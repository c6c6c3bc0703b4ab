import type { ParleyEvent } from '../ports/events.ts';

/** What an event is about. All that is given must hold. */
export interface EventSubject {
  task?: string | undefined;
  /** The requester or sender, the addressee, or the holder. */
  agent?: string | undefined;
  domain?: string | undefined;
  /** A conversation, or the channel of a turn. */
  conversation?: string | undefined;
}

export const matchesSubject = (
  { task, agent, domain, conversation }: EventSubject,
  { data }: Pick<ParleyEvent, 'data'>,
): boolean =>
  (task === undefined || data.taskId === task) &&
  (agent === undefined || [data.from, data.to, data.agent].includes(agent)) &&
  (domain === undefined || data.domain === domain) &&
  (conversation === undefined || data.conversationId === conversation || data.channel === conversation);

export const hasSubject = ({ task, agent, domain, conversation }: EventSubject): boolean =>
  [task, agent, domain, conversation].some((one) => one !== undefined);
