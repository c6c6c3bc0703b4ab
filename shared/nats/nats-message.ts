import * as z from 'zod';
import { boundedRecord } from '../kernel/json/bounded-schemas.ts';
import { jsonValue } from '../kernel/json/parse-or-throw.ts';

/** A message as it is published on NATS. */
export const NatsMessage = z.strictObject({
  subject: z.string().describe('where it goes'),
  headers: z.record(z.string(), z.string()).optional(),
  payload: jsonValue,
  /** Its `Nats-Msg-Id`: JetStream drops a message that it has seen under the same id some minutes before. */
  id: z.string(),
  core: z.literal(true).optional().describe('published without JetStream: whoever does not listen misses it'),
});
export type NatsMessage = z.output<typeof NatsMessage>;

/** Where a message came in on NATS. */
export const NatsEnvelope = z.strictObject({
  subject: z.string().min(1).max(512),
  headers: boundedRecord(z.string(), z.string(), { max: 256 }).default({}),
  publishedAt: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe('when its stream took it, in epoch milliseconds: the same however often the relay brings it'),
});
export type NatsEnvelope = z.output<typeof NatsEnvelope>;

/** For agents whose dialect has no subjects of its own. */
export const formatInboxSubject = (project: string, agent: string): string => `parley.${project}.${agent}.inbox`;
export const formatSendSubject = (project: string): string => `parley.${project}.send`;

/** What the headers say under a name, in whatever case; undefined where two spellings of it disagree. */
export const getHeader = (headers: NatsEnvelope['headers'], name: string): string | undefined => {
  const [said, ...others] = Object.entries(headers).flatMap(([given, value]) =>
    given.toLowerCase() === name ? [value] : [],
  );
  return others.every((other) => other === said) ? said : undefined;
};
