import { ParleyError } from '../../kernel/errors.ts';
import { AGENT_ID, type RegisteredAgent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { ADMIN_KEY, type ApiKey, computeKeyEnd, findValidKey, RELAY_KEY } from './api-key.ts';
import { parseOperatorOwner, toOperatorOwner } from './keys.ts';
import { type PresentedKey, parsePresentedKey } from './presented-key.ts';
import { includesScope, type KeyScope } from './scopes.ts';

/** With which key a call came. */
export interface CallerKey {
  apiKey: ApiKey;
  /** Of the present or the previous secret of the key. */
  keyHash: string;
}

export type Caller =
  | AdminCaller
  /** `viaRelay`: the relay sent it for an agent on NATS. */
  | { project: string; role: 'agent'; registered: RegisteredAgent; key?: CallerKey; viaRelay?: true };

/** Whoever operates the project, as far as the scope of the key goes. */
export interface AdminCaller {
  project: string;
  role: 'admin';
  /** Absent where Parley itself acts. */
  key?: CallerKey;
}

export interface RelayCaller {
  project: string;
  role: 'relay';
  key: CallerKey;
}

export const authenticate = async (deps: Deps, authorization: string | undefined): Promise<Caller | RelayCaller> => {
  const presented = parsePresentedKey(authorization);
  if (!presented) throw new ParleyError('unauthorized', 'Send a key: "Authorization: Bearer <key>".');
  if (presented === 'malformed') {
    throw new ParleyError('unauthorized', 'The checksum of the key is wrong. Copy all of it.');
  }
  const caller = await findCaller(deps, presented);
  if (caller) return caller;
  const { project, owner } = presented;
  // The cache may be older than the key. An absent owner is never cached, so it was just read.
  const renewed = deps.directory.invalidateIfCached(project, owner) ? await findCaller(deps, presented) : undefined;
  if (renewed) return renewed;
  throw new ParleyError(
    'unauthorized',
    'The key is not valid. It may have expired or been rotated, or its agent or project removed.',
  );
};

const findCaller = async (deps: Deps, presented: PresentedKey): Promise<Caller | RelayCaller | undefined> => {
  const { project, owner, keyHash } = presented;
  if (!Object.hasOwn(deps.config.projects, project)) return undefined;
  if (parseOperatorOwner(owner) === undefined) {
    const registered = await deps.directory.getAgent(project, owner);
    const apiKey = registered && findValidKey(presented, registered.keys ?? [], deps.clock.now());
    return apiKey && { project, role: 'agent', registered, key: { apiKey, keyHash } };
  }
  const apiKey = findValidKey(presented, await deps.directory.listKeys(project, owner), deps.clock.now());
  return apiKey && { project, role: apiKey.name === RELAY_KEY ? 'relay' : 'admin', key: { apiKey, keyHash } };
};

/** What a caller without a key, Parley itself, may do is decided elsewhere. */
export const hasScope = ({ key }: Caller | RelayCaller, needed: KeyScope): boolean => {
  const scope = key?.apiKey.scope;
  return scope === undefined || (scope !== 'relay' && includesScope(scope, needed));
};

export const assertScope = (caller: Caller | RelayCaller, needed: KeyScope): void => {
  if (hasScope(caller, needed)) return;
  const scope = caller.key?.apiKey.scope;
  throw new ParleyError('forbidden', `The key has the scope "${scope}", and this call needs "${needed}".`, {
    details: { scope, needed },
  });
};

/** A stream ends with its key and follows changes of the registration. */
export const revalidateCaller = async (deps: Deps, caller: Caller): Promise<Caller | undefined> => {
  if (caller.role === 'admin' || caller.key === undefined) return caller;
  const known = await deps.directory.getAgent(caller.project, caller.registered.agent.id);
  const end = computeKeyEnd(known?.keys ?? [], caller.key.keyHash);
  return known && end > deps.clock.now() ? { ...caller, registered: known } : undefined;
};

export const resolveActor = (
  deps: Deps,
  caller: Caller | RelayCaller,
  named: string | undefined,
): RegisteredAgent | Promise<RegisteredAgent> => {
  if (caller.role !== 'agent') return actAs(deps, caller, named);
  if (named === undefined || named === caller.registered.agent.id) return caller.registered;
  throw new ParleyError('from_mismatch', `The key belongs to ${caller.registered.agent.id}, not to ${named}.`);
};

const actAs = async (
  deps: Deps,
  caller: Exclude<Caller | RelayCaller, { role: 'agent' }>,
  named: string | undefined,
): Promise<RegisteredAgent> => {
  if (named === undefined) {
    throw new ParleyError(
      'invalid_request',
      `The key of the ${caller.role} must say for which agent it speaks: add "agent", or "agent_id" in calls about turns and boxes.`,
    );
  }
  const registered = await findAgent(deps, caller.project, named);
  if (!registered)
    throw new ParleyError('unknown_agent', `No agent ${named} is registered. PUT /v1/agents/${named} registers it.`);
  if (caller.role === 'relay' && registered.agent.transport !== 'nats') {
    throw new ParleyError(
      'from_mismatch',
      `The relay speaks for agents with via "nats", and ${named} is none of them.`,
    );
  }
  return registered;
};

/** By which it acts: all operators are one, as no agent is. */
export const getCallerName = (caller: Caller | RelayCaller): string =>
  caller.role === 'agent' ? caller.registered.agent.id : caller.role;

/** By which people know it: operators by their keys. */
export const describeCaller = (caller: Caller | RelayCaller): string => {
  const { name = ADMIN_KEY } = caller.key?.apiKey ?? {};
  return caller.role !== 'admin' || name === ADMIN_KEY ? getCallerName(caller) : toOperatorOwner(name);
};

export const findAgent = (deps: Deps, project: string, id: string): Promise<RegisteredAgent | undefined> =>
  AGENT_ID.test(id) ? deps.directory.getAgent(project, id) : Promise.resolve(undefined);
