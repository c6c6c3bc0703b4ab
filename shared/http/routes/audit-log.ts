import * as z from 'zod';
import { AUDIT_LOG_STATUSES, readAuditLog } from '../../messaging/audit-log/read-audit-log.ts';
import { boundedCount, defineRoute, type Route, SCANNED_PAGE_DESCRIPTION } from '../route.ts';

const LogEntryView = z
  .object({
    messageId: z.string(),
    timestamp: z.iso.datetime(),
    direction: z.enum(['sent', 'received']),
    fromAgent: z.string(),
    toAgent: z.string().optional(),
    type: z.string(),
    status: z.enum(AUDIT_LOG_STATUSES),
    latencyMs: z.number(),
    evidenceCount: z.number(),
    confidenceScore: z.number(),
    taskId: z.string().optional(),
  })
  .meta({ id: 'AuditEntry' });

const time = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date and time with a time zone' })
  .transform((text) => Date.parse(text))
  .optional();

export const logRoutes: Route[] = [
  defineRoute({
    operationId: 'readAuditLog',
    method: 'GET',
    path: '/v1/audit-log',
    summary: 'Read the audit log, newest first. Each message has one entry when it is sent and one when it is received',
    query: z.strictObject({
      agent: z.string().max(64).optional().describe('the agent whose log is read'),
      type: z.string().max(64).optional(),
      status: z.enum(AUDIT_LOG_STATUSES).optional(),
      from: time.describe('not before this time'),
      to: time.describe('not after this time'),
      // An event has two entries, which stand on one page.
      limit: boundedCount(200, 50, 2),
      cursor: z.string().max(300).optional(),
    }),
    responses: {
      200: {
        description: SCANNED_PAGE_DESCRIPTION,
        schema: z.object({ entries: z.array(LogEntryView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query }) => ({ status: 200, body: await readAuditLog(deps, caller, query) }),
  }),
];
