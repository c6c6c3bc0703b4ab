import * as z from 'zod';
import { ParleyError } from '../../kernel/errors.ts';
import { boundedRecord } from '../../kernel/json/bounded-schemas.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { jsonObject, parseOrThrow } from '../../kernel/json/parse-or-throw.ts';

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

export const parsePayload = <T>(schema: z.ZodType<T>, payload: JsonObject, what: string): T => {
  try {
    return parseOrThrow(schema, payload, 'protocol_violation', what);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const issues = error.issues?.map(({ path, message }) => ({ path: `payload.${path}`, message }));
    throw new ParleyError(error.code, error.message, { issues, details: { ...error.details, violated: 'payload' } });
  }
};
