import * as z from 'zod';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { acknowledgeEntries } from '../../messaging/inbox/acknowledge.ts';
import { readInbox } from '../../messaging/inbox/read-inbox.ts';
import { boundedCount, defineRoute, noBody, noQuery, type Route, waitSeconds } from '../route.ts';
import { instanceIdField, onBehalfOf, TraceView, wireMessageSchema } from './common-fields.ts';

const Inbox = z.object({
  messages: z.array(wireMessageSchema),
  traces: z.array(TraceView).describe('the trace of each message, in their order'),
});

export const inboxRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/inbox',
    summary: "Read the caller's inbox, oldest first; what is read stays until it is acknowledged",
    query: z.strictObject({
      max: boundedCount(100, 20),
      wait: waitSeconds(20),
      mode: z.enum(['read', 'take']).default('read').describe('take: what is read is acknowledged by it'),
      instance: instanceIdField.describe('which of its instances reads; what is for another live one is left to that'),
      agent: onBehalfOf,
    }),
    body: noBody,
    responses: { 200: { description: 'The messages', schema: Inbox } },
    handle: async ({ deps, caller, query, request, longPoll }) => {
      const known = await resolveActor(deps, caller, query.agent);
      // Nobody reads the body of an answer to HEAD.
      const take = query.mode === 'take' && request.method !== 'HEAD';
      const read = await readInbox(deps, known, {
        max: query.max,
        isRemoving: take,
        instance: query.instance,
        waitMs: query.wait,
        signal: longPoll.startWait(query.wait),
      });
      if (take && read.length > 0) longPoll.handOver();
      const messages = read.map(({ message }) => message);
      return { status: 200, body: { messages, traces: read.map(({ trace }) => trace) } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/inbox/ack',
    summary: 'Acknowledge messages by their ids, so that they are not read again',
    ingress: 'none',
    query: noQuery,
    body: z.strictObject({ ids: boundedArray(z.string().min(1).max(128), { min: 1, max: 100 }), agent: onBehalfOf }),
    responses: {
      200: { description: 'How many of them were there', schema: z.object({ acknowledged: z.number() }) },
      409: { description: 'ambiguous_id: several have a short id; `messages` says by which id each is acknowledged' },
    },
    handle: async ({ deps, caller, body }) => {
      const known = await resolveActor(deps, caller, body.agent);
      return { status: 200, body: { acknowledged: await acknowledgeEntries(deps, known, body.ids) } };
    },
  }),
];
