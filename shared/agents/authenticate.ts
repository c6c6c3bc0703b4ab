import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { AGENT_ID, type Known } from './agent.ts';
import { ADMIN, matches, ownerOf } from './keys.ts';

/** Whoever sent a request. */
export type Caller = { project: string; role: 'admin' } | { project: string; role: 'agent'; known: Known };

export const authenticate = async (deps: Deps, authorization: string | undefined): Promise<Caller> => {
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (!key) throw new ParleyError('unauthorized', 'Send a key: "Authorization: Bearer <key>".');
  const { project, owner } = ownerOf(key);
  const caller = await whoseKey(deps, project, owner, key);
  if (caller) return caller;
  // What is remembered may be older than the key.
  deps.directory.forget(project, owner);
  const renewed = await whoseKey(deps, project, owner, key);
  if (renewed) return renewed;
  throw new ParleyError('unauthorized', 'The key is not valid. It may have been rotated or its agent removed.');
};

const whoseKey = async (deps: Deps, project: string, owner: string, key: string): Promise<Caller | undefined> => {
  if (owner === ADMIN) {
    const admin = await deps.directory.admin(project);
    return matches(key, admin?.keyHash) ? { project, role: 'admin' } : undefined;
  }
  const known = await deps.directory.agent(project, owner);
  return matches(key, known?.agent.keyHash) && known ? { project, role: 'agent', known } : undefined;
};

/** The agent that the caller is, or that it speaks for. */
export const agentBehind = async (deps: Deps, caller: Caller, named: string | undefined): Promise<Known> => {
  if (caller.role === 'agent') {
    if (named === undefined || named === caller.known.agent.id) return caller.known;
    throw new ParleyError('from_mismatch', `The key belongs to ${caller.known.agent.id}, not to ${named}.`);
  }
  if (named === undefined) {
    throw new ParleyError('invalid_request', 'An admin key must say for which agent it speaks: add "agent".');
  }
  const known = await find(deps, caller.project, named);
  if (!known)
    throw new ParleyError('unknown_agent', `No agent ${named} is registered. PUT /v1/agents/${named} registers it.`);
  return known;
};

/** Under what name its doings are remembered. */
export const nameOf = (caller: Caller): string => (caller.role === 'admin' ? 'admin' : caller.known.agent.id);

export const requireAdmin = (caller: Caller): void => {
  if (caller.role !== 'admin') throw new ParleyError('forbidden', 'Only an admin key may do this.');
};

export const find = async (deps: Deps, project: string, id: string): Promise<Known | undefined> =>
  AGENT_ID.test(id) ? deps.directory.agent(project, id) : undefined;
