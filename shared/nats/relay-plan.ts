import * as z from 'zod';

/** A stream that the relay makes where it is missing. */
export const StreamSpec = z.strictObject({
  name: z.string(),
  subjects: z.array(z.string()),
  retention: z.enum(['limits', 'workqueue']),
  storage: z.enum(['file', 'memory']),
  maxAgeSeconds: z.number(),
  maxMessageBytes: z.number().optional(),
  maxPerSubject: z.number().optional(),
});
export type StreamSpec = z.output<typeof StreamSpec>;

/** What the relay reads on NATS for the cloud: a durable consumer of a stream, or a subject of core NATS. */
export const SubscriptionSpec = z.strictObject({
  filter: z.string().describe('the subjects that it reads'),
  stream: z.string().optional().describe('absent for core NATS, where what nobody hears is lost'),
  durable: z.string().optional(),
});
export type SubscriptionSpec = z.output<typeof SubscriptionSpec>;

/** Subjects of a workqueue that the relay brings only where no consumer reads them. */
export const UnreadSource = z.strictObject({
  stream: z.string(),
  filter: z.string().describe('the subjects that it looks at'),
  except: z.array(z.string()).describe('those of them that are left to their readers, who may still come'),
});
export type UnreadSource = z.output<typeof UnreadSource>;

/** What a relay has to do at its site. It is told by the cloud, so that it needs no change for a new dialect or domain. */
export const RelayPlan = z
  .object({
    project: z.string(),
    streams: z.array(StreamSpec),
    sources: z.array(SubscriptionSpec),
    unread: z.array(UnreadSource).default([]),
  })
  .meta({ id: 'RelayPlan' });
export type RelayPlan = z.output<typeof RelayPlan>;
