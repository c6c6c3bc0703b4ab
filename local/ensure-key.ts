import { ADMIN_KEY, apiKeyRef, RELAY_KEY } from '../shared/identity/auth/api-key.ts';
import { hashKey, matchesKeyHash } from '../shared/identity/auth/keys.ts';
import { setAdminKey, setRelayKey } from '../shared/identity/auth/set-operator-key.ts';
import { generateId } from '../shared/kernel/ids.ts';
import type { Records } from '../shared/ports/records.ts';

const KEY_SETTERS = { [ADMIN_KEY]: setAdminKey, [RELAY_KEY]: setRelayKey };

/** A known key needs no write: the disk may be full. */
export const ensureKey = async (
  records: Records,
  project: string,
  name: keyof typeof KEY_SETTERS,
  key: string,
): Promise<void> => {
  const known = await records.get(apiKeyRef(project, undefined, name));
  if (!matchesKeyHash(hashKey(key), known?.keyHash)) await KEY_SETTERS[name](records, project, key, generateId());
};
