import * as z from 'zod';

export const onBehalfOf = z.string().max(64).optional().describe('the agent, if an admin key acts for it');
export const instanceIdField = z.string().min(1).max(128).optional();
export const wireMessageSchema = z.looseObject({}).describe('in the dialect of the agent');

/** Of an answer to what was accepted. */
export const NoticesView = z.object({
  notices: z.array(z.string()).optional().describe('warnings about an accepted message'),
});

/** W3C trace context and baggage, beside a message: whoever goes on with it in calls of its own sends them as headers. */
export const TraceView = z.object({
  traceparent: z.string(),
  tracestate: z.string().optional(),
  baggage: z.string().optional(),
});
