import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { holderKey, type Task } from '../../model/task.ts';
import type { Item, Ref } from '../../ports/records.ts';
import { type ClaimOptions, claimTasks, listTasksOfClaim } from './claim-tasks.ts';

/** The tasks of a claim, so that a repetition after a lost answer returns the same ones. */
export interface ClaimReceipt extends Item {
  sk: 'claim';
  taskIds?: string[];
}

const RECEIPT_RETENTION_MS = 10 * 60_000;
/** Beyond the wait. A claim that takes longer has crashed. */
const MAX_CLAIM_WORK_MS = 30_000;

export const claimOnce = async (
  deps: Deps,
  registered: RegisteredAgent,
  claimId: string,
  options: ClaimOptions,
): Promise<Task[]> => {
  const { project, id } = registered.agent;
  const ref: Ref<ClaimReceipt> = { pk: `${project}#claim#${id}#${claimId}`, sk: 'claim' };
  const expires = deps.clock.now() + options.waitMs + MAX_CLAIM_WORK_MS;
  const begun = await deps.records.create<ClaimReceipt>({ ...ref, sk: 'claim', expires }, deps.newId());
  if (begun.outcome !== 'written') {
    const taskIds = begun.outcome === 'refused' ? begun.existing?.taskIds : undefined;
    if (taskIds) return listTasksOfClaim(deps, registered, claimId, taskIds);
    const held = await listAssignedByClaim(deps, registered, claimId);
    if (held.length > 0) return held;
    throw new ParleyError('claim_in_progress', `The claim ${claimId} is still waiting for its tasks. Try again.`, {
      retryable: true,
    });
  }
  let tasks: Task[] = [];
  try {
    // An earlier claim may have crashed between a task and its receipt.
    tasks = await listAssignedByClaim(deps, registered, claimId);
    if (tasks.length === 0) tasks = await claimTasks(deps, registered, { ...options, claimId });
    return tasks;
  } finally {
    const taskIds = tasks.map((task) => task.id);
    if (taskIds.length === 0) await deps.records.delete(ref);
    else
      await deps.records.update(
        ref,
        { set: { taskIds, expires: deps.clock.now() + RECEIPT_RETENTION_MS } },
        deps.newId(),
      );
  }
};

const listAssignedByClaim = async (deps: Deps, { agent }: RegisteredAgent, claimId: string): Promise<Task[]> => {
  const held = await deps.records.query<Task>({
    index: 'byHolder',
    pk: holderKey(agent.project, agent.id),
    newestFirst: true,
    limit: 100,
  });
  return held.filter((task) => task.claimId === claimId);
};
