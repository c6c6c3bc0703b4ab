import * as z from 'zod';

export const onBehalfOf = z.string().max(64).optional().describe('for whom, where an admin key asks');
export const instanceIdField = z.string().min(1).max(128).optional();
export const wireMessageSchema = z.looseObject({}).describe("in the agent's own dialect");

/** Of an answer to what was accepted. */
export const NoticesView = z.object({
  notices: z.array(z.string()).optional().describe('what its sender should know, though it was accepted'),
});

/** W3C trace context and baggage, beside a message: whoever goes on with it in calls of its own sends them as headers. */
export const TraceView = z.object({
  traceparent: z.string(),
  tracestate: z.string().optional(),
  baggage: z.string().optional(),
});
