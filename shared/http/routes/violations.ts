import * as z from 'zod';
import { listViolations } from '../../messaging/violations/violation.ts';
import { VIOLATION_ACTIONS, VIOLATION_SEVERITIES, type Violation } from '../../model/violation.ts';
import { toIso } from '../../ports/clock.ts';
import { boundedCount, defineKeyRoute, type Route, timeOrderedCursor } from '../route.ts';

const ViolationView = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    law: z.string(),
    code: z.string(),
    severity: z.enum(VIOLATION_SEVERITIES),
    action: z.enum(VIOLATION_ACTIONS).describe('the reaction of Parley'),
    detail: z.string(),
    agent: z.string().describe('the sender'),
    to: z.string().optional(),
    dialect: z.string(),
    messageId: z.string(),
    taskId: z.string().optional(),
  })
  .meta({ id: 'Violation' });

const toViolationView = (violation: Violation): z.output<typeof ViolationView> => {
  const { id, law, code, severity, action, detail, agent, to, dialect, messageId, taskId, happenedAt } = violation;
  const at = toIso(happenedAt);
  return { id, at, law, code, severity, action, detail, agent, to, dialect, messageId, taskId };
};

export const violationRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'listViolations',
    method: 'GET',
    path: '/v1/violations',
    summary: 'List messages that broke a rule of their protocol, newest first',
    access: 'admin',
    query: z.strictObject({ limit: boundedCount(100, 20), cursor: timeOrderedCursor.optional() }),
    responses: {
      200: {
        description: 'A page. With a `cursor` there may be more',
        schema: z.object({ violations: z.array(ViolationView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { violations, cursor } = await listViolations(deps, caller, query);
      return { status: 200, body: { violations: violations.map(toViolationView), cursor } };
    },
  }),
];
