import type { Caller } from '../../identity/auth/authenticate.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { Task } from '../../model/task.ts';
import { canReadTask } from '../queries/can-read-task.ts';
import { taskNotFoundError } from './update-task.ts';

/** The requester, or an administrator. Others do not learn that the task exists. */
export const checkRequester = (caller: Caller, task: Task, id: string): ParleyError | undefined => {
  if (!canReadTask(caller, task)) return taskNotFoundError(id);
  if (caller.role !== 'agent' || caller.registered.agent.id === task.from) return undefined;
  return new ParleyError('forbidden', `Only ${task.from}, who asked for the task ${id}, or an admin key may do this.`);
};

export const assertRequester = (caller: Caller, task: Task, id: string): void => {
  const issue = checkRequester(caller, task, id);
  if (issue) throw issue;
};
