import * as z from 'zod';
import { acknowledge, MOST_EVENTS, rewind, takeEvents } from '../../events/consume.ts';
import { type Consumer, consumerRef, consumersFor, type Declared, RECEIPT } from '../../events/consumer.ts';
import { iso } from '../../json/iso.ts';
import { noBody, noQuery, type Route, route, signalFor } from '../route.ts';
import { EventView } from './events.ts';

const ConsumerView = z.object({
  name: z.string(),
  types: z.array(z.string()),
  agents: z.array(z.string()),
  channels: z.array(z.string()).describe('of what is said on a channel, what it hears'),
  cursor: z.string().optional().describe('the place in the event log up to which events were given out'),
  inHand: z.number().describe('how many receipts were given out and not acknowledged'),
});

const viewOf = (
  name: string,
  { types, agents, channels }: Declared,
  state?: Consumer,
): z.output<typeof ConsumerView> => ({
  name,
  types,
  agents,
  channels,
  cursor: state?.next,
  inHand: state?.spans.length ?? 0,
});

const seconds = (least: number, most: number, otherwise: number) => z.number().min(least).max(most).default(otherwise);

const notFound = {
  403: { description: 'The agent may not use a channel of this consumer, which is named' },
  404: { description: 'No such consumer, or not for this key' },
};

export const consumerRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/consumers',
    summary: 'The durable consumers of events that this key may read as, and how far they are',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'All of them', schema: z.object({ consumers: z.array(ConsumerView) }) } },
    handle: async ({ deps, caller }) => {
      const declared = consumersFor(deps, caller);
      const consumers = await Promise.all(
        declared.map(async ([name, one]) =>
          viewOf(name, one, await deps.records.get(consumerRef(caller.project, name))),
        ),
      );
      return { status: 200, body: { consumers } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/consumers/{name}/events',
    summary: 'The next events of a consumer, for this instance alone until it acknowledges them or its lease is over',
    query: noQuery,
    body: z.strictObject({
      max: z.number().int().min(1).max(MOST_EVENTS).default(100),
      wait: seconds(0, 20, 0).describe('seconds to wait for events'),
      lease: seconds(1, 43_200, 60).describe('seconds after which they go to another instance unless acknowledged'),
    }),
    answers: {
      200: {
        description: 'Events, oldest first, and the receipt that acknowledges them; none, in this time',
        schema: z.object({
          events: z.array(EventView),
          receipt: z.string().optional(),
          until: z.iso.datetime().optional().describe('when they go to another instance'),
        }),
      },
      ...notFound,
    },
    handle: async ({ deps, caller, params, body, request }) => {
      const waitMs = body.wait * 1000;
      const { events, receipt, until } = await takeEvents(deps, caller, params.name ?? '', {
        max: body.max,
        leaseMs: body.lease * 1000,
        waitMs,
        signal: signalFor(waitMs, request),
      });
      return { status: 200, body: { events, receipt, until: iso(until) } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/consumers/{name}/ack',
    summary: 'Say that events have been dealt with; otherwise they come again',
    query: noQuery,
    body: z.strictObject({ receipt: z.string().regex(RECEIPT, 'must be one that came with events') }),
    answers: {
      200: {
        description: 'Acknowledged',
        schema: z.object({ duplicate: z.boolean().describe('whether it had been before') }),
      },
      409: { description: 'The events went to another instance, or the consumer was rewound' },
      ...notFound,
    },
    handle: async ({ deps, caller, params, body }) => ({
      status: 200,
      body: await acknowledge(deps, caller, params.name ?? '', body.receipt),
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/consumers/{name}/rewind',
    summary: 'Read on from another place: the start of the log, its end, or a time. No other consumer is disturbed',
    query: noQuery,
    body: z.strictObject({
      to: z
        .union([z.enum(['start', 'end']), z.iso.datetime({ offset: true }).transform((text) => new Date(text))])
        .describe('start, end, or a time'),
    }),
    answers: { 204: { description: 'Done; earlier receipts are worth nothing' }, ...notFound },
    handle: async ({ deps, caller, params, body }) => {
      await rewind(deps, caller, params.name ?? '', body.to);
      return { status: 204 };
    },
  }),
];
