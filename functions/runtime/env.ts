import * as z from 'zod';

/** The environment of every function. The construct fills exactly this, so that the names cannot drift. */
export const FunctionEnv = z.object({
  /** Which deployment this is; metrics carry it. */
  STAGE: z.string().min(1),
  TABLE_NAME: z.string().min(1),
  BUCKET_NAME: z.string().min(1),
  /** The URL of a queue is this prefix, then `<project>-<domain>-<priority>.fifo`. */
  QUEUE_URL_PREFIX: z.url(),
  DELAY_QUEUE_URL: z.url(),
  /** Calls without it did not come through CloudFront. */
  EDGE_SECRET: z.string().min(1).optional(),
  /** Of a deployment with a waiter. */
  WAKE_QUEUE_URL: z.url().optional(),
});
export type FunctionEnv = z.output<typeof FunctionEnv>;

/** Of the functions that put changes aside, or play them back. */
export const StreamEnv = FunctionEnv.extend({ FAILURE_BUCKET_NAME: z.string().min(1) });
