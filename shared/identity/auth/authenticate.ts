import { ParleyError } from '../../kernel/errors.ts';
import { AGENT_ID, type RegisteredAgent } from '../agents/agent.ts';
import type { Deps } from '../deps.ts';
import { parseSystemRole } from './keys.ts';
import { isValidKey, type PresentedKey, parsePresentedKey } from './presented-key.ts';

export type Caller =
  | AdminCaller
  /** `viaRelay`: the relay sent it for an agent on NATS. */
  | { project: string; role: 'agent'; registered: RegisteredAgent; viaRelay?: true };

export interface AdminCaller {
  project: string;
  role: 'admin';
}

export interface RelayCaller {
  project: string;
  role: 'relay';
}

export const authenticate = (deps: Deps, authorization: string | undefined): Promise<Caller | RelayCaller> => {
  const key = parsePresentedKey(authorization);
  if (!key) throw new ParleyError('unauthorized', 'Send a key: "Authorization: Bearer <key>".');
  return authenticateKey(deps, key);
};

const authenticateKey = async (deps: Deps, key: PresentedKey, isRenewed = false): Promise<Caller | RelayCaller> => {
  const { project, owner } = key;
  const role = parseSystemRole(owner);
  let isKnown: boolean;
  if (role) {
    const known = await deps.directory.getSystemRoleKey(project, role);
    isKnown = known !== undefined;
    if (isValidKey(key, known?.keyHash)) return { project, role };
  } else {
    const known = await deps.directory.getAgent(project, owner);
    isKnown = known !== undefined;
    if (isValidKey(key, known?.agent.keyHash) && known) return { project, role: 'agent', registered: known };
  }
  // An absent owner is never cached, so it was just read.
  if (isRenewed || !isKnown) {
    throw new ParleyError('unauthorized', 'The key is not valid. It may have been rotated or its agent removed.');
  }
  // The cache may be older than the key.
  deps.directory.invalidate(project, owner);
  return authenticateKey(deps, key, true);
};

/** A stream ends with its key and follows changes of the registration. */
export const revalidateCaller = async (deps: Deps, caller: Caller): Promise<Caller | undefined> => {
  if (caller.role === 'admin') return caller;
  const { id, keyHash } = caller.registered.agent;
  const known = await deps.directory.getAgent(caller.project, id);
  return known?.agent.keyHash === keyHash ? { ...caller, registered: known } : undefined;
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

export const getCallerName = (caller: Caller | RelayCaller): string =>
  caller.role === 'agent' ? caller.registered.agent.id : caller.role;

export const findAgent = (deps: Deps, project: string, id: string): Promise<RegisteredAgent | undefined> =>
  AGENT_ID.test(id) ? deps.directory.getAgent(project, id) : Promise.resolve(undefined);
