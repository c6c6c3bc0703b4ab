import type { Records } from '../../ports/records.ts';
import { ADMIN_KEY, type ApiKey, apiKeyRef, RELAY_KEY } from './api-key.ts';
import { hashKey } from './keys.ts';

const createKeySetter =
  (name: typeof ADMIN_KEY | typeof RELAY_KEY) =>
  async (records: Records, project: string, key: string, token: string): Promise<ApiKey> => {
    const set = { project, name, scope: name, keyHash: hashKey(key) };
    const change = { set, unset: ['previous', 'lastUsedAt'] };
    const written = await records.update(apiKeyRef(project, undefined, name), change, token, 'orCreate');
    if (written.outcome === 'written') return written.after;
    throw new Error(`the key ${name} of ${project} could not be set`);
  };

/** The old key stops at once here, within seconds elsewhere. */
export const setAdminKey = createKeySetter(ADMIN_KEY);
export const setRelayKey = createKeySetter(RELAY_KEY);
