import * as z from 'zod';
import { boundedRecord } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';

/** A message over HTTP, as NATS would carry it. */
export const CommonGroundMessage = z.strictObject({
  subject: z
    .string()
    .min(1)
    .max(1024)
    .describe('cg.{version}.{project}.{channel}.{category}.{component}.{target}.{suffix}'),
  headers: boundedRecord(z.string().max(128), z.union([z.string().max(1024), z.number()]), { max: 256 }).default({}),
  payload: jsonObject,
});
export type CommonGroundMessage = z.output<typeof CommonGroundMessage>;
