import * as z from 'zod';
import { agentBehind } from '../../agents/authenticate.ts';
import { jsonObject } from '../../json/checked.ts';
import { claimTasks, handOverAll } from '../../tasks/claim-tasks.ts';
import { claimOnce } from '../../tasks/repeatable-claim.ts';
import { noteTasks } from '../note-tasks.ts';
import { noQuery, type Route, route, signalFor } from '../route.ts';
import { instanceId, speaksFor, wireMessage } from './agent-fields.ts';
import { Results, receiveAll } from './messages.ts';
import { Resting, restingView } from './resting.ts';

export const claimRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/claims',
    summary: "Claim the caller's next tasks, and report on earlier ones in the same call",
    query: noQuery,
    body: z
      .strictObject({
        max: z.number().int().min(1).max(10).default(1),
        wait: z.number().min(0).max(20).default(0).describe('seconds to wait for a task'),
        domains: z.array(z.string().max(64)).max(64).optional().describe('only these of its domains'),
        messages: z
          .array(jsonObject)
          .max(25)
          .optional()
          .describe('reports to carry out first, as in POST /v1/messages'),
        claimId: z.string().min(1).max(128).optional().describe('the same claim again brings the same tasks'),
        instance: instanceId.describe('which of its instances asks, for what is only for that one'),
        agent: speaksFor,
      })
      .prefault({}),
    answers: {
      200: {
        description: 'The tasks, each with its lease; none, if none came in time',
        schema: z.object({
          results: Results.optional().describe('what became of each of the messages'),
          tasks: z.array(
            z.object({ message: wireMessage, attempt: z.number(), lease: z.object({ until: z.iso.datetime() }) }),
          ),
          resting: Resting.optional().describe('why the agent is given nothing: it was paused or stopped'),
        }),
      },
    },
    handle: async ({ deps, caller, body, trace, request }) => {
      const known = await agentBehind(deps, caller, body.agent);
      const note = noteTasks(request);
      const sent = { caller, trace, dialect: request.headers['parley-dialect'], note };
      const results = body.messages && (await receiveAll(deps, sent, body.messages));
      const waitMs = body.wait * 1000;
      const options = {
        max: body.max,
        waitMs,
        instance: body.instance,
        domains: body.domains,
        signal: signalFor(waitMs, request),
      };
      const tasks = body.claimId
        ? await claimOnce(deps, known, body.claimId, options)
        : await claimTasks(deps, known, options);
      for (const { id } of tasks) note(id);
      const { project, id } = known.agent;
      // It may have been told to rest, or to work again, while it waited.
      const now = tasks.length === 0 ? await deps.directory.agent(project, id) : undefined;
      return {
        status: 200,
        body: { results, tasks: await handOverAll(deps, known, tasks), resting: now && restingView(deps, now) },
      };
    },
  }),
];
