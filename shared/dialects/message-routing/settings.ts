import * as z from 'zod';

const positive = z.number().int().positive();

export const MessageRoutingSettings = z.strictObject({
  /** An agent of this dialect that is silent for longer is unhealthy. */
  silentMs: positive.default(30_000),
  /** A message that requires an acknowledgement is announced if it has none by then. */
  acknowledgeMs: positive.default(60_000),
  /** How many messages wait in an inbox at most; tasks and their outcomes do not count. */
  inboxLimit: positive.max(1000).default(100),
});
