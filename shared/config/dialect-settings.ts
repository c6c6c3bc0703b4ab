import * as z from 'zod';

const positive = z.number().int().positive();

const MessageRoutingSettings = z.strictObject({
  /** An agent of this dialect that is silent for longer is unhealthy. */
  silentMs: positive.default(30_000),
  /** A message that requires an acknowledgement is announced if it has none by then. */
  acknowledgeMs: positive.default(60_000),
  /** How many messages wait in an inbox at most; tasks and their outcomes do not count. */
  inboxLimit: positive.max(1000).default(100),
});

const RoundTableSettings = z.strictObject({
  /** The contract version that is spoken; another major version is refused. */
  version: z
    .string()
    .regex(/^\d+\.\d+(\.\d+)?$/)
    .default('1.0'),
});

/** What a deployment decides for each dialect that leaves it something to decide. */
export const DialectSettings = z.strictObject({
  'message-routing': MessageRoutingSettings.prefault({}),
  'round-table': RoundTableSettings.prefault({}),
});
