import { agentRef } from '../identity/agents/agent.ts';
import {
  API_KEY_PREFIX,
  type ApiKey,
  apiKeyRef,
  buildApiKey,
  DEFAULT_KEY,
  getKeyOwner,
  MAX_KEYS_PER_AGENT,
} from '../identity/auth/api-key.ts';
import { generateKey, hashKey } from '../identity/auth/keys.ts';
import type { KeyScope } from '../identity/auth/scopes.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { retryOnConflict } from '../kernel/retry-on-conflict.ts';
import { equals } from '../ports/conditions.ts';
import type { TransactionWrite } from '../ports/records.ts';

/** Each is read by its name; a list is one page. */
const MAX_OPERATOR_KEYS = 100;
const KEY_RETRIES = { attempts: 5 };

export interface NewKey {
  name: string;
  agent?: string;
  scope: KeyScope;
  expires?: number;
}

/** The key itself is told this once. */
interface CreatedKey {
  apiKey: ApiKey;
  key: string;
}

export const listApiKeys = (deps: Deps, project: string, agent?: string): Promise<ApiKey[]> =>
  deps.records.query<ApiKey>({
    pk: apiKeyRef(project, agent, '').pk,
    prefix: API_KEY_PREFIX,
    limit: agent === undefined ? MAX_OPERATOR_KEYS : MAX_KEYS_PER_AGENT,
  });

export const createApiKey = (deps: Deps, project: string, { expires, ...wanted }: NewKey): Promise<CreatedKey> =>
  retryOnConflict(`the keys of ${wanted.agent ?? project}`, KEY_RETRIES, async () => {
    const { name, agent } = wanted;
    const key = generateKey(project, getKeyOwner({ agent, name }));
    const owner = agent === undefined ? [] : [await buildOwnerWrite(deps, project, agent)];
    const earlier = await listApiKeys(deps, project, agent);
    if (earlier.some((one) => one.name === name)) throw keyExistsError(name);
    const limit = agent === undefined ? MAX_OPERATOR_KEYS : MAX_KEYS_PER_AGENT;
    if (earlier.length >= limit) throw tooManyKeysError(agent, limit);
    const created = { project, ...wanted, keyHash: hashKey(key), createdAt: deps.clock.now(), expires };
    const item = buildApiKey(created);
    const written = await deps.records.transact([...owner, { kind: 'create', item: { ...item } }], deps.newId());
    deps.directory.invalidate(project, getKeyOwner(wanted));
    const apiKey = written.outcome === 'written' ? await deps.records.get(apiKeyRef(project, agent, name)) : undefined;
    return apiKey && { apiKey, key };
  });

/** Changes the agent, so that a removal that did not see the key is tried again. */
const buildOwnerWrite = async (deps: Deps, project: string, id: string): Promise<TransactionWrite> => {
  const agent = await deps.records.get(agentRef(project, id));
  if (!agent) throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  const change = { if: equals('v', agent.v), set: { keysChangedAt: deps.clock.now() } };
  return { kind: 'update', key: agentRef(project, id), change };
};

/** Beyond these the oldest ends at once. */
const MAX_PREVIOUS_KEYS = 4;

/**
 * With an overlap all that were valid stay valid as long: whoever rotates again after a lost answer locks nobody out. A key
 * that expires still does.
 */
export const rotateApiKey = (
  deps: Deps,
  project: string,
  { agent, name }: { agent?: string; name: string },
  overlapMs: number,
): Promise<CreatedKey> =>
  retryOnConflict(`the key ${name}`, KEY_RETRIES, async () => {
    const before = await deps.records.get(apiKeyRef(project, agent, name));
    if (!before) {
      if (agent !== undefined && name === DEFAULT_KEY)
        return createApiKey(deps, project, { agent, name, scope: 'agent' });
      throw keyNotFoundError(name, agent);
    }
    const now = deps.clock.now();
    const key = generateKey(project, getKeyOwner(before));
    const earlier = [...(before.previous ?? []), { keyHash: before.keyHash, until: now + overlapMs }];
    const previous = overlapMs > 0 ? earlier.filter(({ until }) => until > now).slice(-MAX_PREVIOUS_KEYS) : [];
    const set = { keyHash: hashKey(key), rotatedAt: now, previous };
    const ref = apiKeyRef(project, agent, name);
    const written = await deps.records.update(ref, { if: equals('v', before.v), set }, deps.newId());
    const ended = earlier.filter((one) => !previous.includes(one)).map(({ keyHash }) => keyHash);
    deps.directory.revokeKeys(project, getKeyOwner(before), ended);
    return written.outcome === 'written' ? { apiKey: written.after, key } : undefined;
  });

export const deleteApiKey = async (deps: Deps, project: string, name: string, agent?: string): Promise<void> => {
  const ref = apiKeyRef(project, agent, name);
  const key = await deps.records.get(ref);
  if (!key) throw keyNotFoundError(name, agent);
  await deps.records.delete(ref);
  const hashes = [key.keyHash, ...(key.previous ?? []).map(({ keyHash }) => keyHash)];
  deps.directory.revokeKeys(project, getKeyOwner(key), hashes);
};

const keyExistsError = (name: string): ParleyError =>
  new ParleyError(
    'key_exists',
    `There is a key ${name}. POST /v1/keys/${name}/rotate replaces it, and DELETE /v1/keys/${name} removes it.`,
  );

const keyNotFoundError = (name: string, agent: string | undefined): ParleyError =>
  new ParleyError('key_not_found', `${agent === undefined ? 'The project' : agent} has no key ${name}.`);

const tooManyKeysError = (agent: string | undefined, limit: number): ParleyError =>
  new ParleyError('too_large', `${agent ?? 'The project'} has ${limit} keys, which is as many as it may have.`, {
    details: { limit },
  });
