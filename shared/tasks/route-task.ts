import { domainOf } from '../agents/agent.ts';
import { find } from '../agents/authenticate.ts';
import { isOffered } from '../agents/capabilities.ts';
import { isLive } from '../agents/instances.ts';
import { isGivenOnNats, offersOnNats } from '../agents/offers-on-nats.ts';
import { domainsOf, isOnPrem } from '../config.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Request } from '../messages/command.ts';
import type { Task } from './task.ts';

/** Who may claim a task: one agent, whoever serves a domain, or whoever has a capability. */
export type Way = Pick<Task, 'to' | 'instance' | 'domain' | 'skill' | 'toNats'>;

export const wayFor = async (
  deps: Deps,
  project: string,
  request: Pick<Request, 'to' | 'instance' | 'capability' | 'domain' | 'carried'>,
): Promise<Way | ParleyError> => {
  const { to, capability } = request;
  const known = domainsOf(deps.config, project);
  const named = request.domain ?? domainOf(capability);
  const domain = named !== undefined && known.includes(named) ? named : undefined;
  if (to !== undefined) {
    const addressee = await find(deps, project, to);
    if (addressee) {
      const { instance } = request;
      const isFor = instance !== undefined && (await isLive(deps, project, to, instance));
      return {
        to,
        instance: isFor ? instance : undefined,
        domain: domain ?? request.domain,
        ...onNats(isGivenOnNats(addressee.agent, request.carried)),
      };
    }
    return new ParleyError('unknown_agent', `No agent ${to} is registered, so that nobody would ever get this task.`);
  }
  if (domain !== undefined) return { domain, ...onNats(isOnPrem(deps.config, project, domain)) };
  if (request.domain !== undefined) {
    return new ParleyError('unknown_domain', `There is no domain ${request.domain}. Known: ${known.join(', ')}.`, {
      facts: { known },
    });
  }
  const skill = capability;
  const toNats = await offersOnNats(deps, project, skill, request.carried);
  if (toNats) return { skill, toNats };
  if (await isOffered(deps.records, project, skill)) return { skill };
  return new ParleyError('capability_not_found', `No registered agent has the capability ${capability}.`, {
    facts: { capability },
  });
};

const onNats = (isIt: boolean): Pick<Way, 'toNats'> => (isIt ? { toNats: true } : {});
