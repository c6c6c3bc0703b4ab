import { canServe } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';

/** Agents and routing of a task or of its events. */
type TaskParties = Partial<Record<'from' | 'to' | 'holder' | 'status' | 'domain' | 'capability', unknown>>;

/** An agent reads what it requested, holds or was given, and what waits for its domains and capabilities. */
export const canReadTask = (caller: Caller, task: TaskParties): boolean => {
  if (caller.role === 'admin') return true;
  const { id } = caller.registered.agent;
  if ([task.from, task.to, task.holder].includes(id)) return true;
  return task.status === 'requested' && task.to === undefined && canServe(caller.registered, task);
};
