import * as z from 'zod';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { claimOnce } from '../../tasks/commands/claim-once.ts';
import { claimTasks, encodeClaimedTasks } from '../../tasks/commands/claim-tasks.ts';
import { createTaskLogger, defineRoute, largeBodyLimit, type Route, waitField } from '../route.ts';
import {
  instanceIdField,
  leaseSeconds,
  onBehalfOf,
  readerDialectField,
  StepsView,
  TraceView,
  toLeaseMs,
  wireMessageSchema,
} from './common-fields.ts';
import { MessageResults, receiveMessages } from './messages.ts';
import { PauseView, toPauseView } from './pause-view.ts';

export const claimRoutes: Route[] = [
  defineRoute({
    operationId: 'claimTasks',
    method: 'POST',
    path: '/v1/claims',
    summary: 'Claim the next tasks, and send reports on earlier tasks in the same call',
    bodyBytes: largeBodyLimit,
    ingress: 'none',
    unrepeatable: 'it has a `claimId`.',
    body: z
      .strictObject({
        max: z.number().int().min(1).max(10).default(1),
        wait: waitField,
        domains: boundedArray(z.string().max(64), { max: 64 }).optional().describe('only these domains of the agent'),
        capabilities: boundedArray(z.string().max(128), { max: 256 })
          .optional()
          .describe('only these capabilities of the agent, or `security.*` for a domain that it serves'),
        lease: leaseSeconds.describe('the lease in seconds, at most `tasks.maxLeaseMs`'),
        messages: boundedArray(jsonObject, { max: 25 })
          .optional()
          .describe('reports that are processed first, as in `POST /v1/messages`'),
        claimId: z
          .string()
          .min(1)
          .max(128)
          .optional()
          .describe('makes the claim repeatable: the same id returns the same tasks'),
        receipt: z
          .boolean()
          .default(true)
          .describe('`false` saves two writes: then only a repetition with `true` finds the tasks of a lost response'),
        instance: instanceIdField.describe('the instance of the agent. It also receives tasks for this instance only'),
        dialect: readerDialectField,
        agent: onBehalfOf,
      })
      .prefault({}),
    responses: {
      200: {
        description: 'The tasks with their leases. None, if none arrived in time',
        schema: z.object({
          results: MessageResults.optional().describe('one result per message'),
          tasks: z.array(
            z.object({
              message: wireMessageSchema,
              attempt: z.number(),
              lease: z.object({ until: z.iso.datetime() }),
              ...TraceView.shape,
              conversationId: z.string().optional(),
              user: z.string().optional().describe('the user of the request'),
              graphId: z.string().optional().describe('the graph that the task belongs to'),
              steps: StepsView.optional(),
            }),
          ),
          paused: PauseView.optional().describe('set if the agent is paused or stopped and receives no tasks'),
        }),
      },
    },
    handle: async ({ deps, caller, body, signed, trace, request, longPoll }) => {
      const registered = await resolveActor(deps, caller, body.agent);
      const logTaskId = createTaskLogger(request);
      const sent = { caller, trace, dialect: request.headers['parley-dialect'], signed, onTaskId: logTaskId };
      const waitMs = body.wait * 1000;
      const signal = longPoll.startWait(waitMs);
      const results = body.messages && (await receiveMessages(deps, sent, body.messages));
      const options = {
        max: body.max,
        waitMs,
        instance: body.instance,
        domains: body.domains,
        capabilities: body.capabilities,
        dialect: body.dialect,
        leaseMs: toLeaseMs(deps, body.lease),
        signal,
        canReceive: () => longPoll.isValid(caller),
      };
      const { claimId } = body;
      const tasks =
        claimId && body.receipt
          ? await claimOnce(deps, registered, claimId, options)
          : await claimTasks(deps, registered, { ...options, claimId });
      if (tasks.length > 0) longPoll.handOver();
      for (const { id } of tasks) logTaskId(id);
      const { project, id } = registered.agent;
      // A control command may have arrived during the wait.
      const now = tasks.length === 0 ? await deps.directory.getAgent(project, id) : undefined;
      return {
        status: 200,
        body: {
          results,
          tasks: await encodeClaimedTasks(deps, registered, tasks, body.dialect),
          paused: now && toPauseView(deps, now),
        },
      };
    },
  }),
];
