import type * as z from 'zod';
import { ParleyError } from '../kernel/errors.ts';
import type { JsonObject } from '../kernel/json/json.ts';
import { parseOrThrow } from '../kernel/json/parse-or-throw.ts';

export const parsePayload = <T>(schema: z.ZodType<T>, payload: JsonObject, what: string): T => {
  try {
    return parseOrThrow(schema, payload, 'protocol_violation', what);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const issues = error.issues?.map(({ path, message }) => ({ path: `payload.${path}`, message }));
    throw new ParleyError(error.code, error.message, { issues, details: { ...error.details, violated: 'payload' } });
  }
};
