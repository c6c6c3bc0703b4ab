import { ParleyError } from '../../kernel/errors.ts';
import { and, equals, lessThan, notExists, or } from '../../ports/conditions.ts';
import type { Deps } from '../deps.ts';
import { apiKeyRef } from './api-key.ts';
import type { Caller, RelayCaller } from './authenticate.ts';

/** One write for each key in this time, however many calls it makes. */
export const KEY_USE_INTERVAL_MS = 10 * 60 * 1000;

/** A full disk must not prevent reads. */
export const recordKeyUse = async (deps: Deps, { project, key }: Caller | RelayCaller): Promise<void> => {
  if (!key) return;
  const { apiKey } = key;
  const now = deps.clock.now();
  if (now - (apiKey.lastUsedAt ?? 0) < KEY_USE_INTERVAL_MS) return;
  // The cache holds this record: calls at the same time write nothing.
  apiKey.lastUsedAt = now;
  const isDue = or(notExists('lastUsedAt'), lessThan('lastUsedAt', now - KEY_USE_INTERVAL_MS + 1));
  const change = { if: and(equals('name', apiKey.name), isDue), set: { lastUsedAt: now } };
  try {
    await deps.records.update(apiKeyRef(project, apiKey.agent, apiKey.name), change, deps.newId());
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
  }
};
