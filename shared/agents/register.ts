import * as z from 'zod';
import { domainsOf, hasRelay } from '../config.ts';
import type { Deps } from '../deps.ts';
import { dialectNamed, dialectNames } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { PARLEY } from '../inbox/delivery.ts';
import { jsonObject } from '../json/checked.ts';
import { refuseTooLarge } from '../json/size.ts';
import { publicKeyIn } from '../messages/signature.ts';
import { type Change, is } from '../ports/conditions.ts';
import { AGENT_ID, agentRef, agentsPlace, domainOf, healthRef, skillsAmong } from './agent.ts';
import { offersChanged } from './capabilities.ts';
import { CHANNEL_ID, channelsOf } from './channels.ts';
import { hashOf, newKey } from './keys.ts';
import { COORDINATOR } from './orders.ts';

const name = z.string().min(1).max(128);

export const Registration = z.strictObject({
  dialect: z.enum(dialectNames).describe('the protocol that the agent speaks'),
  capabilities: z.array(name).max(256).default([]).describe('what it can do, such as security.briefing'),
  domains: z
    .array(name)
    .max(64)
    .optional()
    .describe('the domains it serves, where they do not follow from capabilities'),
  via: z.enum(['http', 'nats']).default('http').describe('how it is reached'),
  versions: z.array(name).max(16).optional().describe('the protocol versions it speaks'),
  publicKey: z.string().max(4096).optional().describe('in PEM, or in base64 as DER'),
  signing: z
    .enum(['off', 'warn', 'enforce'])
    .optional()
    .describe(
      'what becomes of its messages that are not signed with the key: nothing, a line in the log, or a refusal',
    ),
  limits: z
    .looseObject({ messagesPerMinute: z.number().int().min(1).optional() })
    .optional()
    .describe('what it may do at most; whatever else it says is kept and shown'),
  role: z.enum([COORDINATOR]).optional().describe('a coordinator may give orders, and speak to all agents at once'),
  inboxLimit: z.number().int().min(1).max(1000).optional().describe('how many messages wait in its inbox at most'),
  overflow: z
    .enum(['evict', 'refuse'])
    .optional()
    .describe('what a full inbox does: evict the oldest, or take no more'),
  manifest: jsonObject.optional().describe('anything worth knowing about it; kept and shown'),
  channels: z
    .array(z.string().regex(CHANNEL_ID, 'must be public, u_<user> or t_<thread>'))
    .min(1)
    .max(64)
    .optional()
    .describe('the channels it may use; public, where none are given'),
  workerTarget: name.optional().describe('what kind of worker runs its turns; ui_worker takes actions of a UI'),
});
export type Registration = z.output<typeof Registration>;

/** Nobody may pass for Parley or for an administrator. */
const RESERVED = [PARLEY, 'admin'];

export interface Registered {
  /** Only for a new agent, and only now. */
  key?: string;
}

export const register = async (deps: Deps, project: string, id: string, asked: Registration): Promise<Registered> => {
  const wanted = { inboxLimit: dialectNamed(asked.dialect).inboxLimit?.(deps.config), ...asked };
  if (!AGENT_ID.test(id))
    throw new ParleyError('invalid_request', `"${id}" is no agent id: 1 to 64 of a-z, 0-9, _ and -.`);
  if (RESERVED.includes(id))
    throw new ParleyError('invalid_request', `"${id}" is the name by which Parley itself speaks or acts.`);
  refuseUnknownDomains(deps, project, wanted);
  refuseUnreadableKey(wanted);
  refuseTooManyGroups(wanted);
  if (wanted.via === 'nats' && !hasRelay(deps.config, project)) {
    throw new ParleyError(
      'invalid_request',
      `The project ${project} has no relay, so that "via": "nats" reaches nobody.`,
    );
  }
  refuseTooLarge('The registration', wanted, deps.config.limits.carriedBytes);
  const key = newKey(project, id);
  const [agent, health] = [agentRef(project, id), healthRef(project, id)];
  const fields = { keyHash: hashOf(key), registeredAt: deps.clock.now(), placed: { p: agentsPlace(project), s: id } };
  // Both or none: a registration that failed half-way would answer its repetition without the key.
  const made = await deps.records.transact(
    [
      { kind: 'create', item: { ...agent, project, id, ...wanted, ...fields } },
      { kind: 'create', item: { ...health, project, agent: id, online: false } },
      ...offersChanged(project, id, [], wanted.capabilities),
    ],
    deps.newId(),
  );
  const isChanged = made.outcome === 'written' || (await replaced(deps, project, id, wanted));
  deps.directory.forget(project, id);
  if (!isChanged) throw meanwhile(id);
  return made.outcome === 'written' ? { key } : {};
};

const meanwhile = (id: string): ParleyError =>
  new ParleyError('conflict', `The agent ${id} was changed or removed meanwhile. Try again.`);

/** Written only if nobody wrote in between: what the agent offers is told by how its registration was. */
const replaced = async (deps: Deps, project: string, id: string, wanted: Registration): Promise<boolean> => {
  const key = agentRef(project, id);
  const before = await deps.records.get(key);
  if (!before) return false;
  const offers = offersChanged(project, id, before.capabilities, wanted.capabilities);
  const change = { ...replacing(wanted), if: is('v', before.v) };
  const written = await deps.records.transact([{ kind: 'update', key, change }, ...offers], deps.newId());
  return written.outcome === 'written';
};

/** The whole registration is replaced: what is no longer said is gone. */
const replacing = (wanted: Registration): Change => ({
  set: wanted,
  unset: Registration.keyof().options.filter((field) => wanted[field] === undefined),
});

const refuseUnreadableKey = ({ publicKey = '', signing = 'off' }: Registration): void => {
  if (signing === 'off' || publicKeyIn(publicKey)) return;
  throw new ParleyError('invalid_request', 'An agent that signs needs a publicKey, in PEM or in base64 as DER.', {
    issues: [{ path: 'publicKey', message: 'must be a public key' }],
  });
};

/** A lease looks at each of them. That is one group on all the channels that an agent can have, or 64 groups on one. */
const MOST_GROUP_QUEUES = 64;

const refuseTooManyGroups = ({ dialect, capabilities, channels }: Registration): void => {
  if (!dialectNamed(dialect).takesTurns) return;
  const [groups, on] = [skillsAmong(capabilities).length, channelsOf({ channels }).length];
  if (groups * on <= MOST_GROUP_QUEUES) return;
  throw new ParleyError(
    'too_large',
    `An agent of ${dialect} can have ${MOST_GROUP_QUEUES} queues of groups, one for each capability without a domain on each channel, not ${groups} × ${on}. Share them out among several agents.`,
    { facts: { limit: MOST_GROUP_QUEUES } },
  );
};

const refuseUnknownDomains = (deps: Deps, project: string, wanted: Registration): void => {
  const known = domainsOf(deps.config, project);
  const named = wanted.domains ?? wanted.capabilities.map(domainOf).filter((domain) => domain !== undefined);
  const unknown = [...new Set(named)].filter((domain) => !known.includes(domain));
  if (unknown.length === 0) return;
  throw new ParleyError('unknown_domain', `No such domain: ${unknown.join(', ')}. Known: ${known.join(', ')}.`, {
    facts: { known },
  });
};

/** The old key stops working, here at once and elsewhere within seconds. */
export const rotateKey = async (deps: Deps, project: string, id: string): Promise<string> => {
  const key = newKey(project, id);
  const changed = await deps.records.update(agentRef(project, id), { set: { keyHash: hashOf(key) } }, deps.newId());
  deps.directory.forget(project, id);
  if (changed.outcome !== 'written') throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  return key;
};

export const deregister = async (deps: Deps, project: string, id: string): Promise<void> => {
  const agent = AGENT_ID.test(id) ? await deps.records.get(agentRef(project, id)) : undefined;
  if (!agent) {
    throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  }
  // As with a change: what it offers is told by how its registration was.
  const gone = await deps.records.transact(
    [
      { kind: 'remove', key: agentRef(project, id), if: is('v', agent.v) },
      { kind: 'remove', key: healthRef(project, id) },
      ...offersChanged(project, id, agent.capabilities, []),
    ],
    deps.newId(),
  );
  deps.directory.forget(project, id);
  if (gone.outcome !== 'written') throw meanwhile(id);
};
