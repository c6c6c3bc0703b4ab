import type { Dialect } from '../../dialects/dialect.ts';
import { getAgentDialect, readsAllInInbox } from '../../dialects/registry.ts';
import type { Agent, RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent } from '../../kernel/errors.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { pickTraceFields, type Trace } from '../../kernel/trace.ts';
import { buildDelegation, type Delegation, type Delivery } from '../../model/delivery.ts';
import { isAssigned, type Task, taskRef } from '../../model/task.ts';
import { type ClaimOptions, claimTask, claimTasks } from '../../tasks/commands/claim-tasks.ts';
import { encodeRequestFor, ensureAlias } from '../../tasks/commands/encode-for-agent.ts';
import { taskNotFoundError } from '../../tasks/commands/update-task.ts';
import type { InboxEntry } from './inbox-entry.ts';

export const claimsByReading = ({ agent }: RegisteredAgent): boolean =>
  agent.transport !== 'nats' && readsAllInInbox(agent) && !getAgentDialect(agent).usesTurns;

const MAX_CLAIMED = 10;

/**
 * Claims what waits for the agent alone, until its deadline, and gives back where it stands in the inbox. It is put there before it is
 * claimed: should this process end in between, the next reader claims it.
 */
export const claimDelegations = async (
  deps: Deps,
  registered: RegisteredAgent,
  { max, ...options }: Pick<ClaimOptions, 'max' | 'waitMs' | 'instance' | 'signal' | 'canReceive' | 'dialect'>,
): Promise<InboxEntry[]> => {
  const entries = new Map<string, Delivery>();
  const prepare = async (taskId: string): Promise<{ leaseMs: number }> => {
    const task = await deps.records.get(taskRef(registered.agent.project, taskId));
    if (!task) throw taskNotFoundError(taskId);
    const delegation = buildDelegation(task, options.instance, deps.config.tasks.retentionMs);
    const made = await deps.records.create<Delivery>(delegation, deps.newId());
    const entry = made.outcome === 'written' ? made.after : made.existing;
    if (entry) entries.set(taskId, entry);
    return { leaseMs: computeLeaseMs(deps, task) };
  };
  const own = { domains: [], capabilities: [] };
  const tasks = await claimTasks(deps, registered, { ...options, ...own, max: Math.min(max, MAX_CLAIMED), prepare });
  return tasks.flatMap(({ id }) => entries.get(id) ?? []);
};

/** Readers have no other way to renew a lease. */
const computeLeaseMs = ({ clock, config }: Deps, { deadline }: Task): number =>
  Math.max(deadline - clock.now(), config.tasks.leaseMs);

interface ReadDelegation {
  message: JsonObject;
  trace: Trace;
}

/** The task while the agent holds it; `gone` where it does not any more. Undefined where it cannot have it now. */
export const readDelegation = async (
  deps: Deps,
  registered: RegisteredAgent,
  { taskId, queueGeneration, instance }: Delegation,
  dialect: Dialect,
): Promise<ReadDelegation | 'gone' | undefined> => {
  const { agent } = registered;
  const found = await deps.records.get(taskRef(agent.project, taskId));
  if (!found || found.queueGeneration !== queueGeneration) return 'gone';
  if (isHeldBy(agent, found)) return encodeDelegation(deps, agent, found, dialect);
  if (found.status !== 'requested') return 'gone';
  try {
    const leaseMs = computeLeaseMs(deps, found);
    const claimed = await claimTask(deps, registered, found, { instance, leaseMs });
    return await encodeDelegation(deps, agent, claimed, dialect);
  } catch (error) {
    if (isPermanent(error)) return undefined;
    throw error;
  }
};

const isHeldBy = ({ id }: Agent, task: Task): boolean => task.holder === id && isAssigned(task);

const encodeDelegation = async (deps: Deps, agent: Agent, task: Task, dialect: Dialect): Promise<ReadDelegation> => {
  await ensureAlias(deps, agent.project, dialect, task.id);
  return { message: await encodeRequestFor(deps, task, dialect, agent.id), trace: pickTraceFields(task) };
};
