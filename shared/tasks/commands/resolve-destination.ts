import { isServedOverNats, listDomains } from '../../config/project-settings.ts';
import { readsAllInInbox } from '../../dialects/registry.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import { isInstanceLive } from '../../identity/agents/agent-instances.ts';
import { hasCapabilityProviders } from '../../identity/agents/capability-offers.ts';
import {
  countProviders,
  domainProvidersRef,
  getDomainProviders,
  isCapabilityDeclared,
  loadDomainProviders,
} from '../../identity/agents/domain-providers.ts';
import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import type { Task } from '../../model/task.ts';
import { getDomain } from '../../ports/queues.ts';
import { computeFirstCheckAt } from '../transitions/end-and-requeue.ts';
import { isDeliveredOverNats, resolveNatsDelivery } from './nats-providers.ts';

/** One agent, the providers of a domain, or the providers of a capability. */
export type Destination = Pick<Task, 'to' | 'instance' | 'domain' | 'routingCapability' | 'deliveryTarget' | 'due'> & {
  /** Nobody can do it, or the providers are not counted yet. */
  isCapabilityUndeclared?: true | 'perhaps';
  /** Its agent reads it in the inbox. */
  isReadInInbox?: true;
  /** The agent, if it is one. */
  addressee?: Agent;
};

export const resolveDestination = async (
  deps: Deps,
  project: string,
  request: Pick<TaskRequestCommand, 'to' | 'instance' | 'capability' | 'domain' | 'extensions' | 'ttlSeconds'>,
): Promise<Destination | ParleyError> => {
  const { to, capability } = request;
  const known = listDomains(deps.config, project);
  const named = request.domain ?? getDomain(capability);
  const domain = named !== undefined && known.includes(named) ? named : undefined;
  if (to !== undefined) {
    const addressee = await findAgent(deps, project, to);
    if (addressee) {
      const { instance } = request;
      const isFor = instance !== undefined && (await isInstanceLive(deps, project, to, instance));
      return {
        to,
        addressee: addressee.agent,
        instance: isFor ? instance : undefined,
        domain: domain ?? request.domain,
        ...toDeliveryTarget(isDeliveredOverNats(addressee.agent, request.extensions)),
        ...(readsAllInInbox(addressee.agent) && { isReadInInbox: true }),
      };
    }
    return new ParleyError('unknown_agent', `No agent ${to} is registered, so that nobody would ever get this task.`);
  }
  if (domain !== undefined) {
    if (isServedOverNats(deps.config, project, domain)) return { domain, deliveryTarget: 'nats' };
    return { domain, ...(await resolveDomainDestination(deps, project, domain, request)) };
  }
  if (request.domain !== undefined) {
    return new ParleyError('unknown_domain', `There is no domain ${request.domain}. Known: ${known.join(', ')}.`, {
      details: { known },
    });
  }
  const routingCapability = capability;
  const deliveryTarget = await resolveNatsDelivery(deps, project, routingCapability, request.extensions);
  if (deliveryTarget) return { routingCapability, deliveryTarget };
  if (await hasCapabilityProviders(deps.records, project, routingCapability)) return { routingCapability };
  if (named !== undefined && (await isDeclaredInDomain(deps, project, named, capability))) return { routingCapability };
  return new ParleyError('capability_not_found', `No registered agent has the capability ${capability}.`, {
    details: { capability },
  });
};

/** Manifests may declare domains that the configuration lacks. */
const isDeclaredInDomain = async (
  { records }: Deps,
  project: string,
  domain: string,
  capability: string,
): Promise<boolean> => {
  const served = await records.get(domainProvidersRef(project, domain));
  return served !== undefined && isCapabilityDeclared(served, capability);
};

/**
 * The queue of the capability, if an agent declares it; otherwise of the domain. There it is checked after half of
 * its time to live: a declaration may have come.
 */
const resolveDomainDestination = async (
  deps: Deps,
  project: string,
  domain: string,
  { capability, ttlSeconds }: Pick<TaskRequestCommand, 'capability' | 'ttlSeconds'>,
): Promise<Pick<Destination, 'routingCapability' | 'isCapabilityUndeclared' | 'due'>> => {
  const known = await getDomainProviders(deps, project, domain);
  // Only a fresh read proves that nobody can do it.
  const served = countProviders(known, capability) > 0 ? known : await loadDomainProviders(deps, project, domain);
  if (isCapabilityDeclared(served, capability)) return { routingCapability: capability };
  if (served.wholeDomain <= 0) return { isCapabilityUndeclared: served.isUncounted ? 'perhaps' : true };
  const now = deps.clock.now();
  return { due: computeFirstCheckAt(now, now + Math.ceil(ttlSeconds * 500), deps.config.tasks) };
};

const toDeliveryTarget = (isIt: boolean): Pick<Destination, 'deliveryTarget'> =>
  isIt ? { deliveryTarget: 'nats' } : {};
