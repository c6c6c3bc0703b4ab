import * as z from 'zod';
import config from '../parley.config.ts';
import { ADMIN, newKey, ownerOf, setAdminKey } from '../shared/agents/keys.ts';
import { inLambda } from './in-lambda.ts';
import { logged } from './logged.ts';
import { logger, wired } from './parley.ts';

const { deps } = wired();

const Wanted = z
  .strictObject({
    project: z.enum(Object.keys(config.projects)).default('default'),
    /** Chosen by the operator; otherwise one is made. */
    key: z
      .string()
      .regex(/^[!-~]{16,}$/, 'must be at least 16 printable characters without spaces')
      .optional(),
  })
  .refine(({ project, key }) => key === undefined || ownerOf(key).project === project, {
    path: ['key'],
    message: 'a chosen key is for the project default; for another one, leave it out',
  });

/** Sets the administrator's key of a project, and answers with it this once. The earlier one stops working. */
export const handler = inLambda<unknown, { project: string; key: string }>()
  .use(logged(() => ({})))
  .handler(async (event) => {
    const { project, key = newKey(project, ADMIN) } = Wanted.parse(event ?? {});
    await setAdminKey(deps.records, project, key, deps.newId());
    logger.info('an administrator has a new key', { project });
    return { project, key };
  });
