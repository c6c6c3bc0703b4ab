import { computed, signal } from '@preact/signals';
import { call, endedKey, setKey } from '../api/call.ts';
import { isMissingCall, type Problem, toProblem } from '../api/problem.ts';

/** Whose key it is, as `GET /v1/whoami` says. */
export interface Identity {
  project: string;
  role: string;
  name: string;
  scopes: string[] | undefined;
}

export const identity = signal<Identity | undefined>(undefined);

const RANKS = ['read', 'operate', 'agent', 'admin'];
const hasScope = (wanted: string): boolean => {
  const { scopes } = identity.value ?? { scopes: [] };
  return scopes === undefined || scopes.some((scope) => RANKS.indexOf(scope) >= RANKS.indexOf(wanted));
};
/** A key that only reads sees no buttons. */
export const canOperate = computed(() => hasScope('operate'));
export const canAdminister = computed(() => hasScope('admin') && identity.value?.role === 'admin');

interface Whoami {
  project?: string;
  role?: string;
  agent?: string;
  name?: string;
  scopes?: string[];
  scope?: string;
}

/** A key of an agent is `prl_<project>.<agent>.…`; other keys are those of administrators. */
const parseKey = (secret: string): Identity => {
  const [, project = 'default', agent] = /^prl_([^.]+)\.([^.]+)\./.exec(secret) ?? [];
  const isAgent = agent !== undefined && !agent.startsWith('@');
  return { project, role: isAgent ? 'agent' : 'admin', name: isAgent ? agent : 'admin', scopes: undefined };
};

const identify = async (secret: string): Promise<Identity> => {
  const guess = parseKey(secret);
  try {
    const told = await call<Whoami>('GET', 'v1/whoami', { key: secret });
    const scopes = told.scopes ?? (told.scope === undefined ? undefined : [told.scope]);
    const role = told.role ?? guess.role;
    return { project: told.project ?? guess.project, role, name: told.agent ?? told.name ?? role, scopes };
  } catch (error) {
    if (!isMissingCall(toProblem(error))) throw error;
    await call('GET', 'v1/domains', { key: secret });
    return guess;
  }
};

export const signIn = async (secret: string): Promise<Problem | undefined> => {
  try {
    identity.value = await identify(secret);
    endedKey.value = undefined;
    setKey(secret);
    return undefined;
  } catch (error) {
    return toProblem(error);
  }
};

/** The link of `npm start` has a code that is good once. */
export const signInWithCode = async (code: string): Promise<Problem | undefined> => {
  try {
    const { key: secret } = await call<{ key: string }>('POST', 'console/session', { body: { code } });
    return await signIn(secret);
  } catch (error) {
    return toProblem(error);
  }
};

export const signOut = (): void => {
  setKey(undefined);
  identity.value = undefined;
};
