import * as z from 'zod';
import { LOG_STATUSES, readLog } from '../../events/message-log.ts';
import { countUpTo, noBody, type Route, route, SOUGHT_PAGE } from '../route.ts';

const LogEntryView = z.object({
  messageId: z.string(),
  timestamp: z.iso.datetime(),
  direction: z.enum(['sent', 'received']),
  fromAgent: z.string(),
  toAgent: z.string().optional(),
  type: z.string(),
  status: z.enum(LOG_STATUSES),
  latencyMs: z.number(),
  evidenceCount: z.number(),
  confidenceScore: z.number(),
  taskId: z.string().optional(),
});

const time = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' })
  .transform((text) => Date.parse(text))
  .optional();

export const logRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/log',
    summary: 'The log of messages, newest first: one entry for each that was sent and each that was received',
    query: z.strictObject({
      agent: z.string().max(64).optional().describe('whose log'),
      type: z.string().max(64).optional(),
      status: z.enum(LOG_STATUSES).optional(),
      from: time.describe('not before this time'),
      to: time.describe('not after this time'),
      limit: countUpTo(200, 50).refine((limit) => limit > 1, 'must be at least 2'),
      cursor: z.string().max(300).optional(),
    }),
    body: noBody,
    answers: {
      200: {
        description: SOUGHT_PAGE,
        schema: z.object({ entries: z.array(LogEntryView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query }) => ({ status: 200, body: await readLog(deps, caller, query) }),
  }),
];
