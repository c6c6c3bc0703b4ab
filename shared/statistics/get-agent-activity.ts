import type { Agent } from '../identity/agents/agent.ts';
import { type LiveInstance, listLiveInstances } from '../identity/agents/agent-instances.ts';
import type { Deps } from '../identity/deps.ts';
import { inboxPk } from '../model/delivery.ts';
import { holderKey, isAssigned, isTask } from '../model/task.ts';
import type { Item } from '../ports/records.ts';
import type { BoundedCount } from './list-queue-states.ts';

/** What one call counts of each: nothing grows with what an agent holds. */
const MAX_COUNTED = 100;

export interface AgentActivity {
  instances: LiveInstance[];
  held: BoundedCount;
  /** What stands in its inbox and was not acknowledged. */
  inbox: BoundedCount;
}

export const getAgentActivity = async (deps: Deps, agent: Agent): Promise<AgentActivity> => {
  const { project, id } = agent;
  const [instances, held, inbox] = await Promise.all([
    listLiveInstances(deps, agent),
    deps.records.query<Item>({ index: 'byHolder', pk: holderKey(project, id), limit: MAX_COUNTED }),
    deps.records.query<Item>({ index: 'byList', pk: inboxPk(project, id), limit: MAX_COUNTED }),
  ]);
  const tasks = held.filter((item) => isTask(item) && isAssigned(item));
  return {
    instances,
    held: { value: tasks.length, isExact: held.length < MAX_COUNTED },
    inbox: { value: inbox.length, isExact: inbox.length < MAX_COUNTED },
  };
};
