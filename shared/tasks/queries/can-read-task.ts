import { canServe } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';

/** What a task, or an event that tells of one, says of whom it concerns. */
type TaskParties = Partial<Record<'from' | 'to' | 'holder' | 'status' | 'domain' | 'capability', unknown>>;

/** An agent sees what it asked for, what it holds or was given, and what waits in its domains and for its capabilities. */
export const canReadTask = (caller: Caller, task: TaskParties): boolean => {
  if (caller.role === 'admin') return true;
  const { id } = caller.registered.agent;
  if ([task.from, task.to, task.holder].includes(id)) return true;
  return task.status === 'requested' && task.to === undefined && canServe(caller.registered, task);
};
