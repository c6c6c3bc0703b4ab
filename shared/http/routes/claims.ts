import * as z from 'zod';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { buildSignedCall } from '../../ingest/signed-call.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { claimOnce } from '../../tasks/commands/claim-once.ts';
import { claimTasks, encodeClaimedTasks } from '../../tasks/commands/claim-tasks.ts';
import { createTaskLogger } from '../log-task-ids.ts';
import { defineRoute, largeBodyLimit, noQuery, type Route } from '../route.ts';
import { instanceIdField, onBehalfOf, TraceView, wireMessageSchema } from './common-fields.ts';
import { MessageResults, receiveMessages } from './messages.ts';
import { PauseView, toPauseView } from './pause-view.ts';

export const claimRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/v1/claims',
    summary: "Claim the caller's next tasks, and report on earlier ones in the same call",
    bodyBytes: largeBodyLimit,
    ingress: 'none',
    query: noQuery,
    body: z
      .strictObject({
        max: z.number().int().min(1).max(10).default(1),
        wait: z.number().min(0).max(20).default(0).describe('seconds to wait for a task'),
        domains: boundedArray(z.string().max(64), { max: 64 }).optional().describe('only these of its domains'),
        capabilities: boundedArray(z.string().max(128), { max: 256 })
          .optional()
          .describe('only these of the capabilities that it declares, or "security.*" where it serves all of a domain'),
        lease: z
          .number()
          .min(1)
          .max(86_400)
          .optional()
          .describe('seconds to hold the tasks without a word about them; cut to tasks.maxLeaseMs'),
        messages: boundedArray(jsonObject, { max: 25 })
          .optional()
          .describe('reports to carry out first, as in POST /v1/messages'),
        claimId: z.string().min(1).max(128).optional().describe('the same claim again brings the same tasks'),
        instance: instanceIdField.describe('which of its instances asks, for what is only for that one'),
        agent: onBehalfOf,
      })
      .prefault({}),
    responses: {
      200: {
        description: 'The tasks, each with its lease; none, if none came in time',
        schema: z.object({
          results: MessageResults.optional().describe('what became of each of the messages'),
          tasks: z.array(
            z.object({
              message: wireMessageSchema,
              attempt: z.number(),
              lease: z.object({ until: z.iso.datetime() }),
              ...TraceView.shape,
              conversationId: z.string().optional(),
              user: z.string().optional().describe('for whom it is done'),
              graphId: z.string().optional().describe('the graph that it is a node of'),
            }),
          ),
          paused: PauseView.optional().describe('why the agent is given nothing: it was paused or stopped'),
        }),
      },
    },
    handle: async ({ deps, caller, body, said, trace, request, longPoll }) => {
      const known = await resolveActor(deps, caller, body.agent);
      const directMessage = createTaskLogger(request);
      const signed = buildSignedCall({
        method: 'POST',
        path: '/v1/claims',
        params: {},
        headers: request.headers,
        body: said,
      });
      const sent = { caller, trace, dialect: request.headers['parley-dialect'], signed, onTaskId: directMessage };
      const waitMs = body.wait * 1000;
      const signal = longPoll.startWait(waitMs);
      const results = body.messages && (await receiveMessages(deps, sent, body.messages));
      const options = {
        max: body.max,
        waitMs,
        instance: body.instance,
        domains: body.domains,
        capabilities: body.capabilities,
        leaseMs: body.lease && Math.min(body.lease * 1000, deps.config.tasks.maxLeaseMs),
        signal,
        canReceive: () => longPoll.isValid(caller),
      };
      const tasks = body.claimId
        ? await claimOnce(deps, known, body.claimId, options)
        : await claimTasks(deps, known, options);
      if (tasks.length > 0) longPoll.handOver();
      for (const { id } of tasks) directMessage(id);
      const { project, id } = known.agent;
      // It may have been told to rest, or to work again, while it waited.
      const now = tasks.length === 0 ? await deps.directory.getAgent(project, id) : undefined;
      return {
        status: 200,
        body: { results, tasks: await encodeClaimedTasks(deps, known, tasks), paused: now && toPauseView(deps, now) },
      };
    },
  }),
];
