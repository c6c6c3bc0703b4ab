import {
  hashKey,
  matchesKeyHash,
  type SystemRole,
  setAdminKey,
  setRelayKey,
  systemRoleKeyRef,
} from '../shared/identity/auth/keys.ts';
import { generateId } from '../shared/kernel/ids.ts';
import type { Records } from '../shared/ports/records.ts';

const KEY_SETTERS = { admin: setAdminKey, relay: setRelayKey };

/** A known key needs no write: the disk may be full. */
export const ensureKey = async (records: Records, project: string, role: SystemRole, key: string): Promise<void> => {
  const known = await records.get(systemRoleKeyRef(project, role));
  if (!matchesKeyHash(hashKey(key), known?.keyHash)) await KEY_SETTERS[role](records, project, key, generateId());
};
