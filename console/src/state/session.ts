import { computed, signal } from '@preact/signals';
import { call, endedKey, isOwnKey, key, setKey } from '../api/call.ts';
import { type Problem, toProblem } from '../api/problem.ts';

/** Whose key it is, as `GET /v1/whoami` says. */
export interface Identity {
  project: string;
  role: string;
  name?: string;
  agent?: string;
  scopes: string[];
}

export const identity = signal<Identity | undefined>(undefined);

/** A key that only reads sees no buttons. */
export const canOperate = computed(() => identity.value?.scopes.includes('operate') ?? false);
export const canAdminister = computed(() => identity.value?.scopes.includes('admin') ?? false);

/** Whether it speaks for an agent, and not for the operator. */
export const getOwnAgent = (): string | undefined => identity.value?.agent;

export const signIn = async (
  secret: string,
  isOwn = key.peek() === secret && isOwnKey(),
): Promise<Problem | undefined> => {
  try {
    identity.value = await call<Identity>('GET', 'v1/whoami', { key: secret });
    endedKey.value = undefined;
    setKey(secret, isOwn);
    return undefined;
  } catch (error) {
    return toProblem(error);
  }
};

/** The link of `npm start` has a code that is good once. */
export const signInWithCode = async (code: string): Promise<Problem | undefined> => {
  try {
    const { key: secret } = await call<{ key: string }>('POST', 'console/session', { body: { code } });
    return await signIn(secret, true);
  } catch (error) {
    return toProblem(error);
  }
};

export const signOut = (): void => {
  const [secret, name] = [key.peek(), identity.peek()?.name];
  if (isOwnKey() && secret !== undefined && name !== undefined)
    void call('DELETE', `v1/keys/${encodeURIComponent(name)}`, { key: secret }).catch(() => {});
  setKey(undefined);
  identity.value = undefined;
};
