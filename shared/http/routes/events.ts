import * as z from 'zod';
import { readEvents, streamEvents } from '../../events/stream-events.ts';
import { getLastEventId } from '../http-message.ts';
import { boundedCount, defineRoute, type Route } from '../route.ts';

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
      after: z.string().max(300).optional(),
      limit: boundedCount(500, 100),
    }),
    headers: { 'Last-Event-ID': 'the position of a reader that reconnects. It overrides `after`' },
    responses: {
      200: {
        description: 'Events, oldest first, and the next cursor',
        schema: z.object({ events: z.array(EventView), cursor: z.string() }),
        otherType: 'text/event-stream',
      },
    },
    handle: async ({ deps, caller, query, request, longPoll }) => {
      const filter = { after: query.after, types: query.type?.split(','), limit: query.limit };
      if (!request.headers.accept?.includes('text/event-stream')) {
        return { status: 200, body: await readEvents(deps, caller, filter) };
      }
      const after = getLastEventId(request) ?? filter.after;
      // Once a stream has begun, it is too late to refuse a cursor.
      await readEvents(deps, caller, { after, limit: 1 });
      return { status: 200, stream: streamEvents(deps, caller, { ...filter, after }, longPoll.startStream()) };
    },
  }),
];
