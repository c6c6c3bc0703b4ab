import * as z from 'zod';
import { agentBehind } from '../../agents/authenticate.ts';
import { acknowledge, readInbox } from '../../inbox/read-inbox.ts';
import { countUpTo, noBody, noQuery, type Route, route, signalFor, waitUpTo } from '../route.ts';
import { instanceId, speaksFor, wireMessage } from './agent-fields.ts';

export const inboxRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/inbox',
    summary: "Read the caller's inbox, oldest first; what is read stays until it is acknowledged",
    query: z.strictObject({
      max: countUpTo(100, 20),
      wait: waitUpTo(20),
      mode: z.enum(['read', 'take']).default('read').describe('take: what is read is acknowledged by it'),
      instance: instanceId.describe('which of its instances reads; what is for another live one is left to that'),
      agent: speaksFor,
    }),
    body: noBody,
    answers: { 200: { description: 'The messages', schema: z.object({ messages: z.array(wireMessage) }) } },
    handle: async ({ deps, caller, query, request }) => {
      const known = await agentBehind(deps, caller, query.agent);
      const messages = await readInbox(deps, known, {
        max: query.max,
        take: query.mode === 'take',
        instance: query.instance,
        waitMs: query.wait,
        signal: signalFor(query.wait, request),
      });
      return { status: 200, body: { messages } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/inbox/ack',
    summary: 'Acknowledge messages by their ids, so that they are not read again',
    query: noQuery,
    body: z.strictObject({ ids: z.array(z.string().min(1).max(128)).min(1).max(100), agent: speaksFor }),
    answers: {
      200: { description: 'How many of them were there', schema: z.object({ acknowledged: z.number() }) },
      409: { description: 'ambiguous_id: several have a short id; `messages` says by which id each is acknowledged' },
    },
    handle: async ({ deps, caller, body }) => {
      const known = await agentBehind(deps, caller, body.agent);
      return { status: 200, body: { acknowledged: await acknowledge(deps, known, body.ids) } };
    },
  }),
];
