import * as z from 'zod';
import { toReceivedReport } from '../../adapters/common-ground/to-turn-command.ts';
import { toAgentStateView, toLeaseView, toTurnSummary, toTurnView } from '../../adapters/common-ground/turn-view.ts';
import { assertBoxExists } from '../../cards/box.ts';
import { getRequiredCards } from '../../cards/put-card.ts';
import { pickExtensionHeaders } from '../../dialects/common-ground/context-headers.ts';
import { getRequiredDepth, parseCallDepth, parseDepth } from '../../dialects/common-ground/headers.ts';
import {
  DeliverBody,
  EnqueuePayload,
  StartBody,
  StepBody,
  StopBody,
  SuspendBody,
  ToolReportPayload,
} from '../../dialects/common-ground/payloads.ts';
import { type Caller, findAgent, resolveActor } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { assertNotReserved } from '../../kernel/ids.ts';
import {
  deliverTurn,
  recordStep,
  startTurn,
  suspendTurn,
  type TurnHolder,
} from '../../turns/lifecycle/advance-turn.ts';
import { enqueueTurn } from '../../turns/lifecycle/enqueue.ts';
import { leaseTurn } from '../../turns/lifecycle/lease-turn.ts';
import { stopTurn } from '../../turns/lifecycle/stop-turn.ts';
import { getAgentState, getStoppableTurn, getTurn, getTurnDetails } from '../../turns/queries/get-turn.ts';
import { buildTurnQuery, TURN_STATUSES } from '../../turns/queries/list-turns.ts';
import { receiveReport } from '../../turns/tool-calls/receive-report.ts';
import { defineRoute, largeBodyLimit, type Route, recordBodyLimit, waitField } from '../route.ts';
import { onBehalfOf, wireMessageSchema } from './common-fields.ts';
import {
  agentName,
  commaSeparated,
  LIST_DESCRIPTION,
  listPageShape,
  listQuery,
  loadPage,
  timeRange,
} from './list-query.ts';

const AdvanceResult = z
  .object({ duplicate: z.boolean().describe('whether the same call had been made before') })
  .meta({ id: 'AdvanceResult' });
const Lease = z
  .object({ agent_turn_id: z.string(), turn_epoch: z.number(), inbox: z.array(wireMessageSchema) })
  .meta({ id: 'LeasedTurn' });
const Enqueued = z.object({ agent_turn_id: z.string(), inbox_id: z.string() }).meta({ id: 'EnqueuedTurn' });
const staleTurnResponse = {
  409: { description: '`stale_turn`: it is no longer the active turn. Nothing has changed' },
};
const code = 'protocol_violation' as const;

/** Whose turn it is: the caller's, or that of whom an admin key names. */
const resolveTurnHolder = async (
  deps: Deps,
  caller: Caller,
  turn: string,
  body: { turn_epoch: number; agent_id?: string | undefined },
): Promise<TurnHolder> => {
  const named = body.agent_id ?? (caller.role === 'admin' ? (await getTurn(deps, caller, turn)).agent : undefined);
  const { agent } = await resolveActor(deps, caller, named);
  return { project: caller.project, agent: agent.id, turn, epoch: body.turn_epoch };
};

/** One call with which a worker brings its turn further. */
const defineAdvanceRoute = <B extends { turn_epoch: number; agent_id?: string | undefined }>(
  verb: string,
  summary: string,
  body: z.ZodType<B>,
  advance: (deps: Deps, holder: TurnHolder, body: B) => Promise<{ duplicate: boolean }>,
): Route =>
  defineRoute({
    operationId: `${verb}Turn`,
    method: 'POST',
    path: `/v1/turns/{agent_turn_id}/${verb}`,
    summary,
    bodyBytes: recordBodyLimit,
    body,
    code,
    responses: { 200: { description: 'Done, or done before', schema: AdvanceResult }, ...staleTurnResponse },
    handle: async ({ deps, caller, params, body }) => {
      const holder = await resolveTurnHolder(deps, caller, params.agent_turn_id ?? '', body);
      return { status: 200, body: await advance(deps, holder, body) };
    },
  });

export const turnRoutes: Route[] = [
  defineRoute({
    operationId: 'listTurns',
    method: 'GET',
    path: '/v1/turns',
    summary: 'List turns, newest first',
    query: z.strictObject({
      status: commaSeparated(TURN_STATUSES).optional(),
      requester: agentName.optional(),
      agent: agentName.optional().describe('whose turn it is'),
      channel: z.string().min(1).max(256).optional(),
      ...timeRange,
      ...listQuery,
    }),
    responses: {
      200: {
        description: LIST_DESCRIPTION,
        schema: z.object({ turns: z.array(z.looseObject({ agent_turn_id: z.string() })), ...listPageShape }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { found, count, cursor } = await loadPage(deps, buildTurnQuery(caller, query), query);
      return { status: 200, body: { turns: found.map(toTurnSummary), count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'enqueueTurn',
    method: 'POST',
    path: '/v1/turns',
    summary: 'Call an agent. The call queues one turn per correlation id',
    bodyBytes: largeBodyLimit,
    body: EnqueuePayload,
    code,
    responses: {
      200: { description: 'A duplicate: the same call had been made before', schema: Enqueued },
      201: { description: 'Queued and durable', schema: Enqueued },
      422: { description: '`protocol_violation` or `recursion_depth_exceeded`, with the id of the failed turn' },
    },
    handle: async ({ deps, caller, body, trace, request }) => {
      assertNotReserved('A call', body.correlation_id);
      const { turn, inboxId, duplicate } = await enqueueTurn(deps, caller, {
        agent: body.agent_id,
        correlation: body.correlation_id,
        mode: body.mode,
        channel: body.channel_id,
        depth: parseCallDepth(request.headers, body.recursion_depth),
        contextBox: body.context_box_id,
        payload: body.payload,
        headers: pickExtensionHeaders(request.headers),
        trace,
      });
      return { status: duplicate ? 200 : 201, body: { agent_turn_id: turn, inbox_id: inboxId } };
    },
  }),
  defineRoute({
    operationId: 'leaseTurn',
    method: 'POST',
    path: '/v1/turns/lease',
    summary: 'Lease the next turn of an agent, or the suspended turn that can resume',
    ingress: 'none',
    body: z.strictObject({
      agent_id: onBehalfOf,
      wait: waitField,
      lease_id: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .describe('makes the lease repeatable: the same id returns the same turn'),
    }),
    responses: { 200: { description: 'The turn', schema: Lease }, 204: { description: 'No turn in this time' } },
    handle: async ({ deps, caller, body, longPoll }) => {
      const registered = await resolveActor(deps, caller, body.agent_id);
      const waitMs = body.wait * 1000;
      const options = { waitMs, signal: longPoll.startWait(waitMs), leaseId: body.lease_id };
      const leased = await leaseTurn(deps, registered, options);
      if (leased) longPoll.handOver();
      return leased ? { status: 200, body: toLeaseView(leased) } : { status: 204 };
    },
  }),
  defineAdvanceRoute('start', 'Start a leased turn', StartBody, startTurn),
  defineAdvanceRoute('step', 'Record a step of a turn', StepBody, (deps, holder, { step_id, phase, metadata }) =>
    recordStep(deps, holder, step_id, phase, metadata),
  ),
  defineAdvanceRoute(
    'suspend',
    'Suspend a turn until its tools have reported. Call the tools after this call',
    SuspendBody,
    (deps, holder, { waiting, deadline_seconds }) =>
      suspendTurn(
        deps,
        holder,
        waiting.map(({ tool_call_id, step_id }) => ({ toolCall: tool_call_id, step: step_id })),
        deadline_seconds === undefined ? undefined : deadline_seconds * 1000,
      ),
  ),
  defineAdvanceRoute('deliver', 'End a turn with its deliverable', DeliverBody, async (deps, holder, body) => {
    await Promise.all([
      getRequiredCards(deps, holder.project, [body.deliverable_card_id]),
      assertBoxExists(deps, holder.project, body.output_box_id),
    ]);
    return deliverTurn(deps, holder, {
      status: body.status,
      deliverable: body.deliverable_card_id,
      outputBox: body.output_box_id,
      error: body.error,
      errorCode: body.error_code,
    });
  }),
  defineRoute({
    operationId: 'stopTurn',
    method: 'POST',
    path: '/v1/turns/{agent_turn_id}/stop',
    scope: 'operate',
    summary: 'Stop a turn. A turn that nobody has leased has the epoch 0',
    body: StopBody,
    code,
    responses: { 200: { description: 'Stopped', schema: AdvanceResult }, ...staleTurnResponse },
    handle: async ({ deps, caller, params, body }) => {
      const turn = await getStoppableTurn(deps, caller, params.agent_turn_id ?? '');
      const stopper = { caller, agent: body.agent_id };
      return { status: 200, body: await stopTurn(deps, turn, body.turn_epoch, body.reason, stopper) };
    },
  }),
  defineRoute({
    operationId: 'reportToolResult',
    method: 'POST',
    path: '/v1/turns/{agent_turn_id}/reports',
    summary: 'Report the result of a tool call. Each call has one report',
    bodyBytes: recordBodyLimit,
    body: ToolReportPayload,
    code,
    responses: {
      200: {
        description: 'Ignored: the report is late, unknown or a duplicate',
        schema: z.object({ applied: z.literal(false), reason: z.string() }),
      },
      202: { description: 'Applied', schema: z.object({ applied: z.literal(true) }) },
    },
    handle: async ({ deps, caller, params, body, trace, request }) => {
      const depth = getRequiredDepth(parseDepth(request.headers, body.recursion_depth));
      if (body.agent_turn_id !== params.agent_turn_id) {
        throw new ParleyError(code, `The report is about the turn ${body.agent_turn_id}, not ${params.agent_turn_id}.`);
      }
      const { ignored } = await receiveReport(deps, caller, toReceivedReport(body), depth, trace);
      return ignored
        ? { status: 200, body: { applied: false, reason: ignored } }
        : { status: 202, body: { applied: true } };
    },
  }),
  defineRoute({
    operationId: 'getTurn',
    method: 'GET',
    path: '/v1/turns/{agent_turn_id}',
    summary: 'Get a turn with its steps and the tools that it waits for',
    responses: { 200: { description: 'The turn', schema: z.looseObject({}) }, 404: { description: 'No such turn' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: toTurnView(await getTurnDetails(deps, caller, params.agent_turn_id ?? '')),
    }),
  }),
];

export const agentStateRoutes: Route[] = [
  defineRoute({
    operationId: 'getAgentState',
    method: 'GET',
    path: '/v1/agents/{id}/head',
    summary: 'Get the execution state of an agent',
    responses: {
      200: { description: 'The execution state', schema: z.looseObject({}) },
      404: { description: 'No such agent' },
    },
    handle: async ({ deps, caller, params: { id = '' } }) => {
      if (!(await findAgent(deps, caller.project, id)))
        throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
      const { head, isTurnVisible } = await getAgentState(deps, caller, id);
      return { status: 200, body: toAgentStateView(id, head, isTurnVisible) };
    },
  }),
];
