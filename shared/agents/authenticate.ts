import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { AGENT_ID, type Known } from './agent.ts';
import { matches, officeNamed, ownerOf } from './keys.ts';

/** Whoever sent a request and may be answered in its own name. */
export type Caller =
  | { project: string; role: 'admin' }
  /** `byRelay` where the relay brought what the agent said on NATS. */
  | { project: string; role: 'agent'; known: Known; byRelay?: true };

/** The relay of a project: it brings messages of agents on NATS, and acts in the name of each of them. */
export interface Relay {
  project: string;
  role: 'relay';
}

export const authenticate = (deps: Deps, authorization: string | undefined): Promise<Caller | Relay> => {
  const [, key] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  if (!key) throw new ParleyError('unauthorized', 'Send a key: "Authorization: Bearer <key>".');
  return whoseKey(deps, key);
};

const whoseKey = async (deps: Deps, key: string, isRenewed = false): Promise<Caller | Relay> => {
  const { project, owner } = ownerOf(key);
  const office = officeNamed(owner);
  if (office) {
    const known = await deps.directory.office(project, office);
    if (matches(key, known?.keyHash)) return { project, role: office };
  } else {
    const known = await deps.directory.agent(project, owner);
    if (matches(key, known?.agent.keyHash) && known) return { project, role: 'agent', known };
  }
  if (isRenewed) {
    throw new ParleyError('unauthorized', 'The key is not valid. It may have been rotated or its agent removed.');
  }
  // What is remembered may be older than the key.
  deps.directory.forget(project, owner);
  return whoseKey(deps, key, true);
};

/** A stream ends with the key that opened it, and follows what its agent serves. */
export const stillValid = async (deps: Deps, caller: Caller): Promise<Caller | undefined> => {
  if (caller.role === 'admin') return caller;
  const { id, keyHash } = caller.known.agent;
  const known = await deps.directory.agent(caller.project, id);
  return known?.agent.keyHash === keyHash ? { ...caller, known } : undefined;
};

/** The agent that the caller is, or that it speaks for. */
export const agentBehind = (deps: Deps, caller: Caller | Relay, named: string | undefined): Known | Promise<Known> => {
  if (caller.role !== 'agent') return representedBy(deps, caller, named);
  if (named === undefined || named === caller.known.agent.id) return caller.known;
  throw new ParleyError('from_mismatch', `The key belongs to ${caller.known.agent.id}, not to ${named}.`);
};

const representedBy = async (
  deps: Deps,
  caller: Exclude<Caller | Relay, { role: 'agent' }>,
  named: string | undefined,
): Promise<Known> => {
  if (named === undefined) {
    throw new ParleyError(
      'invalid_request',
      `The key of the ${caller.role} must say for which agent it speaks: add "agent", or "agent_id" in calls about turns and boxes.`,
    );
  }
  const known = await find(deps, caller.project, named);
  if (!known)
    throw new ParleyError('unknown_agent', `No agent ${named} is registered. PUT /v1/agents/${named} registers it.`);
  if (caller.role === 'relay' && known.agent.via !== 'nats') {
    throw new ParleyError(
      'from_mismatch',
      `The relay speaks for agents with via "nats", and ${named} is none of them.`,
    );
  }
  return known;
};

/** Under what name its doings are remembered. */
export const nameOf = (caller: Caller | Relay): string =>
  caller.role === 'agent' ? caller.known.agent.id : caller.role;

export const requireAdmin = (caller: Caller): void => {
  if (caller.role !== 'admin') throw new ParleyError('forbidden', 'Only an admin key may do this.');
};

export const find = (deps: Deps, project: string, id: string): Promise<Known | undefined> =>
  AGENT_ID.test(id) ? deps.directory.agent(project, id) : Promise.resolve(undefined);
