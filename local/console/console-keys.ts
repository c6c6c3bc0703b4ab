import { randomBytes } from 'node:crypto';
import type { ApiKey } from '../../shared/identity/auth/api-key.ts';
import type { Deps } from '../../shared/identity/deps.ts';
import { ParleyError } from '../../shared/kernel/errors.ts';
import { createApiKey, deleteApiKey, listApiKeys } from '../../shared/registration/manage-keys.ts';

/** A working day: whoever needs longer has a key of their own. */
const VALID_MS = 12 * 60 * 60 * 1000;
const NAME_PREFIX = 'console-';
/** An operator may have named a key of their own alike. */
const isConsoleKey = ({ name, expires }: ApiKey): boolean =>
  /^console-[0-9a-f]{8}$/.test(name) && expires !== undefined;
/** A project has 100 keys of operators; these must not use them up. */
const MAX_KEYS = 10;

/** A key for one tab, which ends by itself and can be removed like any other. The oldest makes room for the newest. */
export const createConsoleKey = async (deps: Deps, project: string): Promise<string> => {
  const own = (await listApiKeys(deps, project)).filter(isConsoleKey);
  const oldestFirst = own.toSorted((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
  for (const { name } of oldestFirst.slice(0, Math.max(0, own.length - MAX_KEYS + 1)))
    await deleteApiKey(deps, project, name).catch(ignoreNotFound);
  const name = `${NAME_PREFIX}${randomBytes(4).toString('hex')}`;
  const { key } = await createApiKey(deps, project, { name, scope: 'admin', expires: deps.clock.now() + VALID_MS });
  return key;
};

/** Another tab may have made room at the same moment. */
const ignoreNotFound = (error: unknown): void => {
  if (!(error instanceof ParleyError && error.code === 'key_not_found')) throw error;
};
