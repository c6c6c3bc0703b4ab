import * as z from 'zod';
import { acceptsCloudEvents, CLOUD_EVENT_BATCH_TYPE, toCloudEvent } from '../../events/cloud-event.ts';
import type { EventFormat } from '../../events/event-segment.ts';
import { readEvents, readLastEvents, streamEvents } from '../../events/stream-events.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { EventPage } from '../../ports/events.ts';
import { getLastEventId } from '../http-message.ts';
import { boundedCount, defineRoute, limitedCount, type Route, type RouteResponse } from '../route.ts';
import { time } from './list-query.ts';

export const EventView = z
  .object({
    id: z.string().describe('the same event may arrive twice, with the same id'),
    project: z.string(),
    type: z.string(),
    at: z.number().describe('epoch milliseconds'),
    data: z.looseObject({}),
  })
  .meta({ id: 'Event' });

export const eventRoutes: Route[] = [
  defineRoute({
    operationId: 'readEvents',
    method: 'GET',
    path: '/v1/events',
    summary:
      'Read the event log after a cursor. With `Accept: text/event-stream`, stream it from now or from `Last-Event-ID`',
    query: z.strictObject({
      type: z.string().max(300).optional().describe('types, separated by commas. `task.*` matches a prefix'),
      task: z.string().max(128).optional().describe('about this task'),
      agent: z.string().max(64).optional().describe('its requester or sender, addressee or holder'),
      domain: z.string().max(32).optional(),
      conversation: z.string().max(200).optional().describe('a conversation, or the channel of a turn'),
      after: z.string().max(300).optional().describe('a cursor that an earlier page gave'),
      since: time(
        'instead of `after`: what was published at this time or later, and maybe some that came before',
      ).optional(),
      last: limitedCount(500)
        .optional()
        .describe('instead of `after` and `limit`: the last ones. It looks at 10,000 events at most'),
      limit: boundedCount(500, 100),
    }),
    headers: { 'Last-Event-ID': 'the position of a reader that reconnects. It overrides `after`' },
    responses: {
      200: {
        description:
          'Events, oldest first, and the next cursor. Those of one task, turn, message or agent are in order. With a filter, a page may be short or empty though there is more: go on until the cursor stays the same. With `Accept: application/cloudevents+json` they are a batch of CloudEvents, and `parley-cursor` is a header; a stream that accepts this type too has CloudEvents',
        schema: z.object({ events: z.array(EventView), cursor: z.string() }),
        otherType: ['text/event-stream', CLOUD_EVENT_BATCH_TYPE],
      },
    },
    handle: async ({ deps, caller, query, request, longPoll }) => {
      const { type, task, agent, domain, conversation, since, last, limit } = query;
      if ([query.after, since, last].filter((one) => one !== undefined).length > 1)
        throw new ParleyError('invalid_request', 'Only one of `after`, `since` and `last` can be given.');
      const filter = { types: type?.split(','), subject: { task, agent, domain, conversation }, limit };
      const format = acceptsCloudEvents(request.headers.accept) ? 'cloudevents' : 'parley';
      const isStream = request.headers.accept?.includes('text/event-stream') === true;
      if (last !== undefined && isStream)
        throw new ParleyError(
          'invalid_request',
          'A stream has no `last`: read them first, and stream after their cursor.',
        );
      if (last !== undefined) return toResponse(await readLastEvents(deps, caller, { ...filter, limit: last }), format);
      const begin = since === undefined ? query.after : await deps.events.findPositionAt(caller.project, since);
      if (!isStream) return toResponse(await readEvents(deps, caller, { ...filter, after: begin }), format);
      const after = getLastEventId(request) ?? begin;
      // Once a stream has begun, it is too late to refuse a cursor.
      await readEvents(deps, caller, { after, limit: 1 });
      return { status: 200, stream: streamEvents(deps, caller, { ...filter, after, format }, longPoll.startStream()) };
    },
  }),
];

/** A batch of CloudEvents is an array, which has no place for a cursor. */
const toResponse = (page: EventPage, format: EventFormat): RouteResponse =>
  format === 'parley'
    ? { status: 200, body: page }
    : {
        status: 200,
        body: page.events.map(toCloudEvent),
        headers: { 'content-type': CLOUD_EVENT_BATCH_TYPE, 'parley-cursor': page.cursor },
      };
