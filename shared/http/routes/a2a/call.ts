import { GATEWAY } from '../../../adapters/a2a/agent-card.ts';
import { getContextId, splitExtensions } from '../../../dialects/a2a/encode.ts';
import type { Agent } from '../../../identity/agents/agent.ts';
import { type Caller, findAgent } from '../../../identity/auth/authenticate.ts';
import type { Deps } from '../../../identity/deps.ts';
import type { SignedContent } from '../../../model/command.ts';
import type { HistoryEntry } from '../../../model/history.ts';
import type { Task } from '../../../model/task.ts';
import { getTask } from '../../../tasks/queries/get-task.ts';
import type { RouteCall } from '../../route.ts';
import { A2aError, agentNotFoundError } from './errors.ts';

/** One operation for one agent, or for all of the project. */
export interface A2aCall extends Pick<RouteCall, 'trace' | 'request' | 'longPoll'> {
  deps: Deps;
  caller: Caller;
  /** Absent for the gateway. */
  agent: Agent | undefined;
  signed: SignedContent | undefined;
}

/** A tenant of the gateway is an agent; an agent has no tenant but itself. */
export const resolveAgent = async (
  deps: Deps,
  { project }: Caller,
  address: string,
  tenant: string | undefined,
): Promise<Agent | undefined> => {
  const isGateway = address === GATEWAY;
  if (!isGateway && tenant !== undefined && tenant !== address)
    throw new A2aError('INVALID_PARAMS', `At the address of ${address} the tenant can only be ${address}.`);
  const named = isGateway ? tenant : address;
  if (named === undefined || named === GATEWAY) return undefined;
  const found = await findAgent(deps, project, named);
  if (!found) throw agentNotFoundError(named);
  return found.agent;
};

export interface FoundTask {
  task: Task;
  entries: HistoryEntry[];
}

/** One that the caller may read, and that was asked of this agent: any other is as if it were not there. */
export const findTask = async (
  { deps, caller, agent, request }: A2aCall,
  id: string,
  waitMs = 0,
  signal?: AbortSignal,
): Promise<FoundTask> => {
  request.addLogFields?.({ taskId: id });
  const found = await getTask(deps, caller, id, waitMs, signal);
  if (!agent || isOf(found.task, agent)) return found;
  throw new A2aError('TASK_NOT_FOUND', `There is no task ${id}.`, { taskId: id });
};

const isOf = ({ to, extensions }: Task, { id }: Agent): boolean =>
  to === id || splitExtensions(extensions).own.agent === id;

export const assertSameContext = (task: Task, contextId: string | undefined): void => {
  if (contextId === undefined || contextId === '' || contextId === getContextId(task)) return;
  throw new A2aError('INVALID_PARAMS', `The task ${task.id} has another context than ${contextId}.`);
};
