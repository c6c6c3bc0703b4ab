import {
  type Agent,
  buildDomainWildcard,
  listExactCapabilities,
  listServedDomains,
  listUnscopedCapabilities,
  listWholeDomains,
  type RegisteredAgent,
} from '../../identity/agents/agent.ts';
import { findQueuePause, NO_PAUSED_QUEUES, type PausedQueues } from '../../identity/queue-pauses.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { isObject, type Json } from '../../kernel/json/json.ts';
import { formatInstanceQueueName } from '../../model/task.ts';
import { getDomain, PRIORITIES, type QueueKey } from '../../ports/queues.ts';

interface QueueFilter {
  domains?: string[];
  capabilities?: string[];
  instance?: string;
}

/** Most claims have no filter, and share the queues of the registration. */
const defaultQueueKeys = new WeakMap<Agent, QueueKey[]>();

/** In order of priority, then of destination. A filter does not exclude tasks addressed to the agent. */
export const getClaimableQueues = (registered: RegisteredAgent, wanted: QueueFilter): QueueKey[] => {
  const isUsual = wanted.domains === undefined && wanted.capabilities === undefined && wanted.instance === undefined;
  if (!isUsual) return buildClaimableQueues(registered, wanted);
  const queueKeys = defaultQueueKeys.get(registered.agent) ?? buildClaimableQueues(registered, wanted);
  defaultQueueKeys.set(registered.agent, queueKeys);
  return queueKeys;
};

const buildClaimableQueues = (registered: RegisteredAgent, wanted: QueueFilter): QueueKey[] => {
  const { project, id } = registered.agent;
  const names = wanted.instance === undefined ? [id] : [formatInstanceQueueName(id, wanted.instance), id];
  const { domains, capabilities } = pickSharedQueues(registered, wanted);
  return PRIORITIES.flatMap((priority) => [
    ...names.map((name): QueueKey => ({ project, kind: 'agent', name, priority })),
    ...domains.map((name): QueueKey => ({ project, kind: 'domain', name, priority })),
    ...capabilities.map((name): QueueKey => ({ project, kind: 'capability', name, priority })),
  ]);
};

interface SharedQueues {
  domains: string[];
  capabilities: string[];
}

const pickSharedQueues = (registered: RegisteredAgent, wanted: QueueFilter): SharedQueues => {
  const { agent } = registered;
  const [whole, exact, skills] = [
    listWholeDomains(agent),
    listExactCapabilities(agent),
    listUnscopedCapabilities(agent.capabilities),
  ];
  const { domains, capabilities } = wanted;
  if (domains === undefined && capabilities === undefined)
    return { domains: whole, capabilities: [...exact, ...skills] };
  assertServed(agent.id, 'serve', domains, listServedDomains(registered));
  const stars = whole.map(buildDomainWildcard);
  assertServed(agent.id, 'declare', capabilities, [...exact, ...skills, ...stars]);
  const inDomains = exact.filter((capability) => domains?.includes(getDomain(capability) ?? ''));
  return {
    domains: whole.filter((domain) => domains?.includes(domain) || capabilities?.includes(buildDomainWildcard(domain))),
    capabilities: [...new Set([...inDomains, ...(capabilities ?? []).filter((name) => !stars.includes(name))])],
  };
};

const assertServed = (agent: string, verb: string, wanted: string[] = [], own: string[]): void => {
  const foreign = wanted.filter((name) => !own.includes(name));
  if (foreign.length === 0) return;
  const hint = verb === 'declare' ? ' A claim chooses among capabilities that the registration names one by one.' : '';
  throw new ParleyError('not_eligible', `The agent ${agent} does not ${verb} ${foreign.join(', ')}.${hint}`);
};

/** By its message: of a domain that is not paused a capability may be. */
export const isOfPausedQueue = (paused: PausedQueues, body: Json): boolean =>
  paused !== NO_PAUSED_QUEUES &&
  isObject(body) &&
  typeof body.capability === 'string' &&
  findQueuePause(paused, { kind: 'capability', name: body.capability }) !== undefined;

/** A delegated task does not return to an earlier holder, nor to an agent that declined it. */
export const isExcludedFrom = ({ agent }: RegisteredAgent, body: Json): boolean =>
  isObject(body) && [body.delegationChain, body.declinedBy].some((ids) => Array.isArray(ids) && ids.includes(agent.id));
