import * as z from 'zod';
import { acknowledgeEvents, MAX_EVENTS, seekConsumer, takeEvents } from '../../events/consume-events.ts';
import { type Consumer, type ConsumerConfig, consumerRef, listConsumers, RECEIPT } from '../../events/consumer.ts';
import { toIso } from '../../ports/clock.ts';
import { defineRoute, type Route, waitField } from '../route.ts';
import { EventView } from './events.ts';

const ConsumerView = z
  .object({
    name: z.string(),
    types: z.array(z.string()),
    agents: z.array(z.string()),
    channels: z.array(z.string()).describe('the channels whose events it reads'),
    cursor: z.string().optional().describe('the position in the event log'),
    inHand: z.number().describe('the number of receipts without acknowledgement'),
  })
  .meta({ id: 'Consumer' });

const toConsumerView = (
  name: string,
  { types, agents, channels }: ConsumerConfig,
  state?: Consumer,
): z.output<typeof ConsumerView> => ({
  name,
  types,
  agents,
  channels,
  cursor: state?.next,
  inHand: state?.inFlight.length ?? 0,
});

const boundedSeconds = (least: number, most: number, otherwise: number) =>
  z.number().min(least).max(most).default(otherwise);

const notFound = {
  403: { description: 'The agent may not use a channel of this consumer' },
  404: { description: 'No such consumer for this key' },
};

export const consumerRoutes: Route[] = [
  defineRoute({
    operationId: 'listConsumers',
    method: 'GET',
    path: '/v1/consumers',
    summary: 'List the durable consumers that the key may use, with their positions',
    responses: { 200: { description: 'The consumers', schema: z.object({ consumers: z.array(ConsumerView) }) } },
    handle: async ({ deps, caller }) => {
      const declared = listConsumers(deps, caller);
      const consumers = await Promise.all(
        declared.map(async ([name, one]) =>
          toConsumerView(name, one, await deps.records.get(consumerRef(caller.project, name))),
        ),
      );
      return { status: 200, body: { consumers } };
    },
  }),
  defineRoute({
    operationId: 'readConsumerEvents',
    method: 'POST',
    path: '/v1/consumers/{name}/events',
    summary:
      'Read the next events of a consumer. They belong to this instance until it acknowledges them or their lease expires',
    ingress: 'none',
    body: z.strictObject({
      max: z.number().int().min(1).max(MAX_EVENTS).default(100),
      wait: waitField,
      lease: boundedSeconds(1, 43_200, 60).describe(
        'the lease in seconds. Without an acknowledgement the events then go to another instance',
      ),
    }),
    responses: {
      200: {
        description: 'Events, oldest first, with the receipt that acknowledges them. None, if none arrived in time',
        schema: z.object({
          events: z.array(EventView),
          receipt: z.string().optional(),
          until: z.iso.datetime().optional().describe('the end of the lease'),
        }),
      },
      ...notFound,
    },
    handle: async ({ deps, caller, params, body, longPoll }) => {
      const waitMs = body.wait * 1000;
      const { events, receipt, until } = await takeEvents(deps, caller, params.name ?? '', {
        max: body.max,
        leaseMs: body.lease * 1000,
        waitMs,
        signal: longPoll.startWait(waitMs),
      });
      return { status: 200, body: { events, receipt, until: toIso(until) } };
    },
  }),
  defineRoute({
    operationId: 'acknowledgeEvents',
    method: 'POST',
    path: '/v1/consumers/{name}/ack',
    summary: 'Acknowledge events. Otherwise they are delivered again',
    ingress: 'none',
    body: z.strictObject({ receipt: z.string().regex(RECEIPT, 'must be one that came with events') }),
    responses: {
      200: {
        description: 'Acknowledged',
        schema: z.object({ duplicate: z.boolean().describe('whether they had been acknowledged before') }),
      },
      409: { description: 'The events went to another instance, or the consumer was rewound' },
      ...notFound,
    },
    handle: async ({ deps, caller, params, body }) => ({
      status: 200,
      body: await acknowledgeEvents(deps, caller, params.name ?? '', body.receipt),
    }),
  }),
  defineRoute({
    operationId: 'rewindConsumer',
    method: 'POST',
    path: '/v1/consumers/{name}/rewind',
    scope: 'operate',
    summary: 'Move a consumer to the start of the log, to its end, or to a time',
    ingress: 'none',
    body: z.strictObject({
      to: z
        .union([z.enum(['start', 'end']), z.iso.datetime({ offset: true }).transform((text) => new Date(text))])
        .describe('`start`, `end` or a time'),
    }),
    responses: { 204: { description: 'Done. Earlier receipts are invalid' }, ...notFound },
    handle: async ({ deps, caller, params, body }) => {
      await seekConsumer(deps, caller, params.name ?? '', body.to);
      return { status: 204 };
    },
  }),
];
