import * as z from 'zod';

export const RoundTableSettings = z.strictObject({
  /** The contract version that is spoken; another major version is refused. */
  version: z
    .string()
    .regex(/^\d+\.\d+(\.\d+)?$/)
    .default('1.0'),
});
