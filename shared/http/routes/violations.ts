import * as z from 'zod';
import { requireAdmin } from '../../agents/authenticate.ts';
import { iso } from '../../json/iso.ts';
import { ACTIONS, listViolations, SEVERITIES, type Violation } from '../../violations/violation.ts';
import { countUpTo, noBody, placeCursor, type Route, route } from '../route.ts';

const ViolationView = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  law: z.string(),
  code: z.string(),
  severity: z.enum(SEVERITIES),
  action: z.enum(ACTIONS).describe('what was done about it'),
  detail: z.string(),
  agent: z.string().describe('who broke it'),
  to: z.string().optional(),
  dialect: z.string(),
  messageId: z.string(),
  taskId: z.string().optional(),
});

const viewOf = (violation: Violation): z.output<typeof ViolationView> => {
  const { id, law, code, severity, action, detail, agent, to, dialect, messageId, taskId, happenedAt } = violation;
  const at = iso(happenedAt);
  return { id, at, law, code, severity, action, detail, agent, to, dialect, messageId, taskId };
};

export const violationRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/violations',
    summary: 'Messages that broke a law of their protocol, newest first (admin)',
    query: z.strictObject({ limit: countUpTo(100, 20), cursor: placeCursor.optional() }),
    body: noBody,
    answers: {
      200: {
        description: 'A page; with a cursor, there may be more',
        schema: z.object({ violations: z.array(ViolationView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      requireAdmin(caller);
      const { violations, cursor } = await listViolations(deps, caller, query);
      return { status: 200, body: { violations: violations.map(viewOf), cursor } };
    },
  }),
];
