import * as z from 'zod';
import { readEvents, streamEvents } from '../../events/stream-events.ts';
import { getLastEventId } from '../http-message.ts';
import { boundedCount, defineRoute, noBody, type Route } from '../route.ts';

export const EventView = z.object({
  id: z.string().describe('the same event may be told twice; it then has the same id'),
  project: z.string(),
  type: z.string(),
  at: z.number().describe('epoch milliseconds'),
  data: z.looseObject({}),
});

export const eventRoutes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/events',
    summary:
      'The event log from behind a cursor; with Accept: text/event-stream, live from now or from Last-Event-ID on',
    query: z.strictObject({
      type: z
        .string()
        .max(300)
        .optional()
        .describe('one type, or several with commas between them; task.* is all that begin alike'),
      after: z.string().max(300).optional(),
      limit: boundedCount(500, 100),
    }),
    body: noBody,
    headers: { 'Last-Event-ID': 'where a reader of the live stream was that comes back; before `after`' },
    responses: {
      200: {
        description: 'Events, oldest first, and where to go on',
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
