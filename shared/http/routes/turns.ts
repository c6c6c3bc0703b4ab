import * as z from 'zod';
import { agentBehind, type Caller, find } from '../../agents/authenticate.ts';
import { requireBox } from '../../cards/box.ts';
import { requireCards } from '../../cards/keep-card.ts';
import type { Deps } from '../../deps.ts';
import { depthOfCall, depthSaid, extensionsIn, strictDepth } from '../../dialects/common-ground/headers.ts';
import {
  DeliverBody,
  Enqueue,
  StartBody,
  StepBody,
  StopBody,
  SuspendBody,
  ToolReport,
} from '../../dialects/common-ground/payloads.ts';
import { ParleyError } from '../../errors.ts';
import { deliverTurn, type Holder, startTurn, suspendTurn, takeStep } from '../../turns/advance.ts';
import { enqueue } from '../../turns/enqueue.ts';
import { lease } from '../../turns/lease.ts';
import { findTurn, showHead, showTurn, stoppable } from '../../turns/look-up.ts';
import { receiveReport } from '../../turns/receive-report.ts';
import { stopTurn } from '../../turns/stop.ts';
import { noBody, noQuery, type Route, route, signalFor } from '../route.ts';
import { speaksFor, wireMessage } from './agent-fields.ts';

const Advanced = z.object({ duplicate: z.boolean().describe('whether this had been written before') });
const Lease = z.object({ agent_turn_id: z.string(), turn_epoch: z.number(), inbox: z.array(wireMessage) });
const Enqueued = z.object({ agent_turn_id: z.string(), inbox_id: z.string() });
const stale = { 409: { description: 'stale_turn: it is not the active turn any more; nothing has changed' } };
const code = 'protocol_violation' as const;

/** Whose turn it is: the caller's, or that of whom an admin key names. */
const holderOf = async (
  deps: Deps,
  caller: Caller,
  turn: string,
  said: { turn_epoch: number; agent_id?: string | undefined },
): Promise<Holder> => {
  const named = said.agent_id ?? (caller.role === 'admin' ? (await findTurn(deps, caller, turn)).agent : undefined);
  const { agent } = await agentBehind(deps, caller, named);
  return { project: caller.project, agent: agent.id, turn, epoch: said.turn_epoch };
};

/** One call with which a worker brings its turn further. */
const advancing = <B extends { turn_epoch: number; agent_id?: string | undefined }>(
  verb: string,
  summary: string,
  body: z.ZodType<B>,
  advance: (deps: Deps, holder: Holder, body: B) => Promise<{ duplicate: boolean }>,
): Route =>
  route({
    method: 'POST',
    path: `/v1/turns/{agent_turn_id}/${verb}`,
    summary,
    query: noQuery,
    body,
    code,
    answers: { 200: { description: 'Written, once', schema: Advanced }, ...stale },
    handle: async ({ deps, caller, params, body: said }) => {
      const holder = await holderOf(deps, caller, params.agent_turn_id ?? '', said);
      return { status: 200, body: await advance(deps, holder, said) };
    },
  });

export const turnRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/turns',
    summary: 'Call an agent: a turn is put into its queue, once for each correlation id',
    query: noQuery,
    body: Enqueue,
    code,
    answers: {
      200: { description: 'The very same call had been made before', schema: Enqueued },
      201: { description: 'Queued, and on disk', schema: Enqueued },
      422: { description: 'protocol_violation or recursion_depth_exceeded, with the turn that tells of it' },
    },
    handle: async ({ deps, caller, body, trace, request }) => {
      const { turn, inboxId, duplicate } = await enqueue(deps, caller, {
        agent: body.agent_id,
        correlation: body.correlation_id,
        mode: body.mode,
        channel: body.channel_id,
        depth: depthOfCall(request.headers, body.recursion_depth),
        contextBox: body.context_box_id,
        payload: body.payload,
        headers: extensionsIn(request.headers),
        trace,
      });
      return { status: duplicate ? 200 : 201, body: { agent_turn_id: turn, inbox_id: inboxId } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/turns/lease',
    summary: "The agent's next turn, or the one that can go on because its tools have reported",
    query: noQuery,
    body: z.strictObject({
      agent_id: speaksFor,
      wait: z.number().min(0).max(20).default(0).describe('seconds to wait for a turn'),
      lease_id: z.string().min(1).max(128).optional().describe('the same lease again brings the same turn'),
    }),
    answers: { 200: { description: 'The turn', schema: Lease }, 204: { description: 'None, in this time' } },
    handle: async ({ deps, caller, body, request }) => {
      const known = await agentBehind(deps, caller, body.agent_id);
      const waitMs = body.wait * 1000;
      const options = { waitMs, signal: signalFor(waitMs, request), leaseId: body.lease_id };
      const leased = await lease(deps, known, options);
      return leased ? { status: 200, body: leased } : { status: 204 };
    },
  }),
  advancing('start', 'Begin a turn that was leased', StartBody, startTurn),
  advancing('step', 'Say that a step was taken', StepBody, (deps, holder, { step_id, phase, metadata }) =>
    takeStep(deps, holder, step_id, phase, metadata),
  ),
  advancing('suspend', 'Wait for tools; then call them', SuspendBody, (deps, holder, { waiting, deadline_seconds }) =>
    suspendTurn(
      deps,
      holder,
      waiting.map(({ tool_call_id, step_id }) => ({ toolCall: tool_call_id, step: step_id })),
      deadline_seconds === undefined ? undefined : deadline_seconds * 1000,
    ),
  ),
  advancing('deliver', 'End a turn with what it was to bring', DeliverBody, async (deps, holder, body) => {
    await Promise.all([
      requireCards(deps, holder.project, [body.deliverable_card_id]),
      requireBox(deps, holder.project, body.output_box_id),
    ]);
    return deliverTurn(deps, holder, {
      status: body.status,
      deliverable: body.deliverable_card_id,
      outputBox: body.output_box_id,
      error: body.error,
      errorCode: body.error_code,
    });
  }),
  route({
    method: 'POST',
    path: '/v1/turns/{agent_turn_id}/stop',
    summary: 'End a turn that is no longer wanted; one that nobody has leased has the epoch 0',
    query: noQuery,
    body: StopBody,
    code,
    answers: { 200: { description: 'Stopped', schema: Advanced }, ...stale },
    handle: async ({ deps, caller, params, body }) => {
      const turn = await stoppable(deps, caller, params.agent_turn_id ?? '');
      const stopper = { caller, agent: body.agent_id };
      return { status: 200, body: await stopTurn(deps, turn, body.turn_epoch, body.reason, stopper) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/turns/{agent_turn_id}/reports',
    summary: 'What a tool has to say to the turn that waits for it; counts once',
    query: noQuery,
    body: ToolReport,
    code,
    answers: {
      200: {
        description: 'Nobody waits for it (late, unknown) or it came before (duplicate); nothing has changed',
        schema: z.object({ applied: z.literal(false), reason: z.string() }),
      },
      202: { description: 'Applied', schema: z.object({ applied: z.literal(true) }) },
    },
    handle: async ({ deps, caller, params, body, trace, request }) => {
      const depth = strictDepth(depthSaid(request.headers, body.recursion_depth));
      if (body.agent_turn_id !== params.agent_turn_id) {
        throw new ParleyError(code, `The report is about the turn ${body.agent_turn_id}, not ${params.agent_turn_id}.`);
      }
      const { ignored } = await receiveReport(deps, caller, body, depth, trace);
      return ignored
        ? { status: 200, body: { applied: false, reason: ignored } }
        : { status: 202, body: { applied: true } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/turns/{agent_turn_id}',
    summary: 'One turn with its steps and the tools it waits for',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The turn', schema: z.looseObject({}) }, 404: { description: 'No such turn' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await showTurn(deps, caller, params.agent_turn_id ?? ''),
    }),
  }),
];

export const headRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/agents/{id}/head',
    summary: 'What an agent is doing',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'Its head', schema: z.looseObject({}) }, 404: { description: 'No such agent' } },
    handle: async ({ deps, caller, params: { id = '' } }) => {
      if (!(await find(deps, caller.project, id)))
        throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
      return { status: 200, body: await showHead(deps, caller, id) };
    },
  }),
];
