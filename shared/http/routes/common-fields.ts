import * as z from 'zod';
import { DIALECT_NAMES } from '../../dialects/registry.ts';
import type { Deps } from '../../identity/deps.ts';
import { jsonValue } from '../../kernel/json/parse-or-throw.ts';

export const onBehalfOf = z.string().max(64).optional().describe('the agent, if an admin key acts for it');
export const changeReason = z.string().min(1).max(500).optional().describe('is shown with each task');
export const changeBody = z.strictObject({ reason: changeReason }).prefault({});

export const leaseSeconds = z.number().min(1).max(86_400).optional();
export const toLeaseMs = ({ config }: Deps, seconds: number | undefined): number | undefined =>
  seconds && Math.min(seconds * 1000, config.tasks.maxLeaseMs);

export const instanceIdField = z.string().min(1).max(128).optional();
export const readerDialectField = z
  .enum(DIALECT_NAMES)
  .optional()
  .describe('the dialect of the response. By default that of the agent');
export const wireMessageSchema = z.looseObject({}).describe('in the dialect of the agent');

/** Of an answer to what was accepted. */
export const NoticesView = z.object({
  notices: z.array(z.string()).optional().describe('warnings about an accepted message'),
});

/** W3C trace context and baggage, beside a message: whoever goes on with it in calls of its own sends them as headers. */
export const TraceView = z
  .object({
    traceparent: z.string(),
    tracestate: z.string().optional(),
    baggage: z.string().optional(),
  })
  .meta({ id: 'Trace' });

/** The finished steps of a claimed task: no attempt repeats them. */
export const StepsView = z
  .record(z.string(), z.looseObject({ value: jsonValue.optional(), bytes: z.number().optional() }))
  .describe('finished steps by name: the value, or the size of one that `GET /v1/tasks/{id}/steps/{name}` returns');
