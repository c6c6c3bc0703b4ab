import * as z from 'zod';
import { jsonValue } from '../json/checked.ts';

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
export const Arrival = z.strictObject({
  subject: z.string().min(1).max(512),
  headers: z.record(z.string(), z.string()).default({}),
});
export type Arrival = z.output<typeof Arrival>;

/** For agents whose dialect has no subjects of its own. */
export const inboxSubject = (project: string, agent: string): string => `parley.${project}.${agent}.inbox`;
export const sendSubject = (project: string): string => `parley.${project}.send`;
