import type { AdminCaller, Caller, RelayCaller } from '../identity/auth/authenticate.ts';
import { ParleyError } from '../kernel/errors.ts';

/** Who may make a call, by what the route declares. */
export interface CallerByAccess {
  'agent-or-admin': Caller;
  admin: AdminCaller;
  'relay-or-admin': AdminCaller | RelayCaller;
  'any-key': Caller | RelayCaller;
}
export type KeyAccess = keyof CallerByAccess;
export type Access = 'open' | KeyAccess;

const ROLES: Record<KeyAccess, readonly (Caller | RelayCaller)['role'][]> = {
  'agent-or-admin': ['agent', 'admin'],
  admin: ['admin'],
  'relay-or-admin': ['relay', 'admin'],
  'any-key': ['agent', 'admin', 'relay'],
};

const FORBIDDEN_MESSAGES: Record<KeyAccess, string> = {
  'agent-or-admin': 'The key of the relay is not for this call.',
  admin: 'Only an admin key may do this.',
  'relay-or-admin': 'Only the key of the relay or of an admin may do this.',
  'any-key': 'This key is not for this call.',
};

/** The caller, if its role may make this call at all. */
export const assertAccess = <A extends KeyAccess>(
  access: A,
  caller: Caller | RelayCaller | undefined,
): CallerByAccess[A] => {
  if (!caller) throw new ParleyError('unauthorized', 'This call needs a key.');
  if (canCall(access, caller)) return caller;
  throw new ParleyError('forbidden', FORBIDDEN_MESSAGES[access]);
};

const canCall = <A extends KeyAccess>(access: A, caller: Caller | RelayCaller): caller is CallerByAccess[A] =>
  ROLES[access].includes(caller.role);
