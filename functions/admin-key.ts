import * as z from 'zod';
import config from '../parley.config.ts';
import {
  ADMIN_OWNER,
  generateKey,
  isHardToGuess,
  MIN_DISTINCT_CHARACTERS,
  parseKeyOwner,
} from '../shared/identity/auth/keys.ts';
import { setAdminKey } from '../shared/identity/auth/set-operator-key.ts';
import { createRuntime } from './runtime/composition.ts';
import { createHandler } from './runtime/create-handler.ts';
import { logger } from './runtime/function-logger.ts';

const { deps } = createRuntime();

const AdminKeyRequest = z
  .strictObject({
    project: z.enum(Object.keys(config.projects)).default('default'),
    /** Chosen by the operator; otherwise one is made. */
    key: z
      .string()
      .regex(/^[!-~]{16,}$/, 'must be at least 16 printable characters without spaces')
      .refine(isHardToGuess, `must have at least ${MIN_DISTINCT_CHARACTERS} different characters`)
      .optional(),
  })
  .refine(({ project, key }) => key === undefined || isKeyOfProject(key, project), {
    path: ['key'],
    message: 'a chosen key is for the project default; for another one, leave it out',
  });

/** Any text but a key of Parley is one for the project `default`. */
const isKeyOfProject = (key: string, project: string): boolean => {
  const owned = parseKeyOwner(key);
  return owned?.owner === ADMIN_OWNER && owned.project === project;
};

/** Sets the administrator's key of a project, and answers with it this once. The earlier one stops working. */
export const handler = createHandler<unknown, { project: string; key: string }>(async (event) => {
  const { project, key = generateKey(project, ADMIN_OWNER) } = AdminKeyRequest.parse(event ?? {});
  await setAdminKey(deps.records, project, key, deps.newId());
  logger.info('admin key set', { project });
  return { project, key };
});
