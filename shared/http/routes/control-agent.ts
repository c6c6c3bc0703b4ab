import * as z from 'zod';
import { controlAgent } from '../../registration/control-agent.ts';
import { defineRoute, type Route } from '../route.ts';
import { AgentView, loadAgentView } from './agent-view.ts';

const MAX_PAUSE_S = 30 * 86_400;
const reason = z.string().max(1024).optional();
const ReasonBody = z.strictObject({ reason }).optional();
const PauseBody = z
  .strictObject({
    reason,
    seconds: z.number().min(1).max(MAX_PAUSE_S).optional().describe('when the pause ends. By default with `resume`'),
  })
  .optional();

const defineControlRoute = <B extends { reason?: string | undefined; seconds?: number | undefined } | undefined>(
  action: 'pause' | 'drain' | 'resume',
  summary: string,
  body: z.ZodType<B>,
): Route =>
  defineRoute({
    operationId: `${action}Agent`,
    method: 'POST',
    path: `/v1/agents/{id}/${action}`,
    scope: 'operate',
    summary,
    body,
    responses: { 200: { description: 'The agent', schema: AgentView }, 404: { description: 'No such agent' } },
    handle: async ({ deps, caller, params: { id = '' }, body: { reason: why, seconds } = {} }) => {
      const timeoutMs = seconds === undefined ? undefined : seconds * 1000;
      await controlAgent(deps, caller, id, { action, reason: why, timeoutMs });
      return { status: 200, body: await loadAgentView(deps, caller, id) };
    },
  });

export const controlAgentRoutes: Route[] = [
  defineControlRoute('pause', 'Give an agent no new tasks. It goes on with those that it holds', PauseBody),
  defineControlRoute('drain', 'Let an agent finish what it holds before it ends: its claims wait no more', ReasonBody),
  defineControlRoute('resume', 'Give an agent tasks again', ReasonBody),
];
