import { serves } from '../agents/agent.ts';
import type { Caller } from '../agents/authenticate.ts';

/** What a task, or an event that tells of one, says of whom it concerns. */
type Concern = Partial<Record<'from' | 'to' | 'holder' | 'status' | 'domain' | 'skill', unknown>>;

/** An agent sees what it asked for, what it holds or was given, and what waits in its domains and for its capabilities. */
export const maySee = (caller: Caller, task: Concern): boolean => {
  if (caller.role === 'admin') return true;
  const { id } = caller.known.agent;
  if ([task.from, task.to, task.holder].includes(id)) return true;
  return task.status === 'requested' && task.to === undefined && serves(caller.known, task);
};
