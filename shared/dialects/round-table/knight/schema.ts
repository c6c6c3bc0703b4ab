import * as z from 'zod';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../../kernel/ids.ts';
import { buildMessageSchema } from '../schema.ts';

const id = z.string().regex(CLIENT_ID, CLIENT_ID_RULE).overwrite(toCanonicalId);

/** Round Table with any id, and with the version and the time left out where a knight leaves them out. */
export const KnightMessage = buildMessageSchema({
  id,
  version: z.string().max(32).default('1.0'),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  reference: id,
});
