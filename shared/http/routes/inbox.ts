import * as z from 'zod';
import { assertScope, hasScope, resolveActor } from '../../identity/auth/authenticate.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { acknowledgeEntries } from '../../messaging/inbox/acknowledge.ts';
import { readInbox } from '../../messaging/inbox/read-inbox.ts';
import { boundedCount, defineRoute, type Route, waitQuery } from '../route.ts';
import { instanceIdField, onBehalfOf, readerDialectField, TraceView, wireMessageSchema } from './common-fields.ts';

const Inbox = z
  .object({
    messages: z.array(wireMessageSchema),
    traces: z.array(TraceView).describe('the trace of each message, in the same order'),
  })
  .meta({ id: 'Inbox' });

export const inboxRoutes: Route[] = [
  defineRoute({
    operationId: 'readInbox',
    method: 'GET',
    path: '/v1/inbox',
    summary: 'Read the inbox, oldest first. Entries stay until they are acknowledged',
    query: z.strictObject({
      max: boundedCount(100, 20),
      wait: waitQuery,
      mode: z.enum(['read', 'take']).default('read').describe('`take` acknowledges the entries that it returns'),
      instance: instanceIdField.describe('the instance of the agent. Entries for another live instance are left out'),
      dialect: readerDialectField,
      claim: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'whether tasks for the agent are claimed and returned, if its inbox gets all. By default `true`, and `false` for operators and for keys that only read',
        ),
      agent: onBehalfOf,
    }),
    responses: { 200: { description: 'The messages', schema: Inbox } },
    handle: async ({ deps, caller, query, request, longPoll }) => {
      const registered = await resolveActor(deps, caller, query.agent);
      // Nobody reads the body of an answer to HEAD.
      const isRead = request.method !== 'HEAD';
      const take = query.mode === 'take' && isRead;
      const isClaiming =
        query.claim === undefined ? caller.role === 'agent' && hasScope(caller, 'agent') : query.claim === 'true';
      if (take || isClaiming) assertScope(caller, 'agent');
      const read = await readInbox(deps, registered, {
        max: query.max,
        isRemoving: take,
        instance: query.instance,
        dialect: query.dialect,
        waitMs: query.wait,
        signal: longPoll.startWait(query.wait),
        isClaiming: isRead && isClaiming,
        canReceive: () => longPoll.isValid(caller),
      });
      if (take && read.length > 0) longPoll.handOver();
      const messages = read.map(({ message }) => message);
      return { status: 200, body: { messages, traces: read.map(({ trace }) => trace) } };
    },
  }),
  defineRoute({
    operationId: 'acknowledgeMessages',
    method: 'POST',
    path: '/v1/inbox/ack',
    summary: 'Acknowledge inbox entries by id',
    ingress: 'none',
    body: z.strictObject({ ids: boundedArray(z.string().min(1).max(128), { min: 1, max: 100 }), agent: onBehalfOf }),
    responses: {
      200: { description: 'The number of acknowledged entries', schema: z.object({ acknowledged: z.number() }) },
      409: { description: '`ambiguous_id`: a short id matches several entries. `messages` has their full ids' },
    },
    handle: async ({ deps, caller, body }) => {
      const registered = await resolveActor(deps, caller, body.agent);
      return { status: 200, body: { acknowledged: await acknowledgeEntries(deps, registered, body.ids) } };
    },
  }),
];
