import { isServedOverNats, listDomains } from '../../config/config.ts';
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

/** Who may claim a task: one agent, whoever serves a domain, or whoever has a capability. */
export type Destination = Pick<Task, 'to' | 'instance' | 'domain' | 'routingCapability' | 'deliveryTarget' | 'due'> & {
  /** Nobody who is registered can do it, or who is registered is yet to be counted. */
  isCapabilityUndeclared?: true | 'perhaps';
  /** The one agent that it is for finds it in its inbox. */
  isReadInInbox?: true;
  /** That agent. */
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

/** Manifests declare capabilities of domains that the configuration does not have. */
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
 * In the capability's own queue where somebody declares that, else in the domain's. There it is looked at when half of its time to
 * live is over, at the latest: somebody may have come to declare it.
 */
const resolveDomainDestination = async (
  deps: Deps,
  project: string,
  domain: string,
  { capability, ttlSeconds }: Pick<TaskRequestCommand, 'capability' | 'ttlSeconds'>,
): Promise<Pick<Destination, 'routingCapability' | 'isCapabilityUndeclared' | 'due'>> => {
  const known = await getDomainProviders(deps, project, domain);
  // Only what was just read says that nobody can do it.
  const served = countProviders(known, capability) > 0 ? known : await loadDomainProviders(deps, project, domain);
  if (isCapabilityDeclared(served, capability)) return { routingCapability: capability };
  if (served.wholeDomain <= 0) return { isCapabilityUndeclared: served.isUncounted ? 'perhaps' : true };
  const now = deps.clock.now();
  return { due: computeFirstCheckAt(now, now + Math.ceil(ttlSeconds * 500), deps.config.tasks) };
};

const toDeliveryTarget = (isIt: boolean): Pick<Destination, 'deliveryTarget'> =>
  isIt ? { deliveryTarget: 'nats' } : {};
