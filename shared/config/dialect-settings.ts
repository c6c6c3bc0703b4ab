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

const CommonGroundSettings = z.strictObject({
  defaultSender: z
    .string()
    .regex(/^[a-z0-9_-]{1,64}$/, 'must be 1 to 64 of a-z, 0-9, _ and -')
    .optional()
    .describe(
      'The agent that sends the unsigned messages on NATS whose `CG-Sender` names no agent. Tool commands count as sent by the agent that they name. Without it such messages are rejected.',
    ),
});

export const DialectSettings = z.strictObject({
  'common-ground': CommonGroundSettings.prefault({}),
  'message-routing': MessageRoutingSettings.prefault({}),
  'round-table': RoundTableSettings.prefault({}),
});
