import { type Agent, listExactCapabilities, listWholeDomains } from '../../identity/agents/agent.ts';
import { findProviders } from '../../identity/agents/capability-providers.ts';
import { countProviders, isCapabilityDeclared, loadDomainProviders } from '../../identity/agents/domain-providers.ts';
import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { ParleyError } from '../../kernel/errors.ts';
import { capByAnswer, type Task, type TaskError } from '../../model/task.ts';
import { type Change, mergeChanges } from '../../ports/conditions.ts';
import { isDeliveredOverNats } from '../commands/nats-providers.ts';
import { buildEnqueueChange, buildReleaseChange, LEASE_FIELDS } from './end-and-requeue.ts';
import { type Actor, buildProcessedFields, claimThen, type HolderMessage } from './holder-transitions.ts';
import { requireAssignedTo, requireAttempt } from './rules.ts';

/** In lower case. */
const UNABLE_CODES = new Set(['skill_missing', 'capability_not_found', 'unauthorized']);

export const isDecline = ({ code }: TaskError): boolean => UNABLE_CODES.has(code.toLowerCase());

/** The next decline fails the task. */
const MAX_DECLINES = 20;

/** Where a declined task goes. */
export interface AlternativeHolders {
  /** Set if it has its own queue. */
  routingCapability?: string;
}

/**
 * Other providers: without the agent, the requester, and all who declined or held the task before. Undefined if there are
 * none.
 */
export const findAlternativeHolders = async (
  deps: Deps,
  task: Task,
  agent: string,
): Promise<AlternativeHolders | undefined> => {
  const { project, from, to, domain, routingCapability, capability, declinedBy = [], delegationChain = [] } = task;
  if (to !== undefined || declinedBy.length >= MAX_DECLINES) return undefined;
  const excluded = [...new Set([...declinedBy, agent, from, ...delegationChain])];
  if (domain === undefined) {
    const { agents } = await findProviders(deps, project, routingCapability ?? capability, (page) =>
      page.filter((other) => !excluded.includes(other.id) && isReachable(task, other)),
    );
    return agents.length > 0 ? {} : undefined;
  }
  const served = await loadDomainProviders(deps, project, domain);
  const agents = await Promise.all(excluded.map((id) => findAgent(deps, project, id)));
  const ableButExcluded = agents.filter(
    (known) =>
      known &&
      (listWholeDomains(known.agent).includes(domain) || listExactCapabilities(known.agent).includes(capability)),
  ).length;
  if (!served.isUncounted && countProviders(served, capability) <= ableButExcluded) return undefined;
  return isCapabilityDeclared(served, capability) && !task.deliveryTarget ? { routingCapability: capability } : {};
};

/** On NATS, over HTTP, or either. */
const isReachable = ({ deliveryTarget, extensions }: Task, agent: Agent): boolean =>
  deliveryTarget === 'both' || isDeliveredOverNats(agent, extensions) === (deliveryTarget === 'nats');

/** To other providers, without spending an attempt. */
export const buildReassignChange = (
  task: Task,
  by: Actor,
  report: HolderMessage,
  error: TaskError,
  { routingCapability }: AlternativeHolders,
): Change | ParleyError =>
  claimThen(task, by, (held) => ({
    rules: [requireAssignedTo(by.agent), ...requireAttempt(report.attempt)],
    change: mergeChanges(
      buildEnqueueChange(
        capByAnswer(held, held.deadline > by.now ? held.deadline : by.now + held.ttlSeconds * 1000),
        by,
      ),
      {
        set: {
          error: { ...error, agent: by.agent },
          declinedBy: [...(held.declinedBy ?? []), by.agent],
          routingCapability,
          ...buildProcessedFields(held, report),
          outcomeAuditEntry: report.auditEntry,
        },
        unset: LEASE_FIELDS,
        add: { uncountedAttempts: 1 },
      },
    ),
  }));

export const buildHolderReleaseChange = (task: Task, by: Actor, report: HolderMessage): Change | ParleyError =>
  claimThen(task, by, (held) => ({
    rules: [requireAssignedTo(by.agent), ...requireAttempt(report.attempt)],
    change: mergeChanges(buildReleaseChange(held, by), {
      set: { ...buildProcessedFields(held, report), outcomeAuditEntry: report.auditEntry },
    }),
  }));
