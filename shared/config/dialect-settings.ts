import * as z from 'zod';

const positive = z.number().int().positive();

const MessageRoutingSettings = z.strictObject({
  silentMs: positive
    .default(30_000)
    .describe('An agent of this dialect is unhealthy after this time without a sign of life.'),
  acknowledgeMs: positive.default(60_000).describe('The time after which a missing acknowledgement causes an event.'),
  inboxLimit: positive
    .max(1000)
    .default(100)
    .describe('How many messages an inbox holds. Tasks and their outcomes do not count.'),
});

const RoundTableSettings = z.strictObject({
  version: z
    .string()
    .regex(/^\d+\.\d+(\.\d+)?$/)
    .default('1.0')
    .describe('The protocol version. Messages of another major version are rejected.'),
});

export const DialectSettings = z.strictObject({
  'message-routing': MessageRoutingSettings.prefault({}),
  'round-table': RoundTableSettings.prefault({}),
});
