import * as z from 'zod';
import type { Deps } from '../../deps.ts';
import { iso } from '../../json/iso.ts';
import type { Note } from '../../notes/note.ts';
import { closeTicket, listTickets, TICKET_STATUSES } from '../../notes/tickets.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { loaded } from '../../tasks/content.ts';
import { countUpTo, noBody, noQuery, placeCursor, type Route, route } from '../route.ts';

const Ticket = z.object({
  id: z.string(),
  type: z.string(),
  from: z.string(),
  to: z.string(),
  status: z.enum(TICKET_STATUSES),
  priority: z.enum(PRIORITIES),
  openedAt: z.iso.datetime(),
  closedAt: z.iso.datetime().optional(),
  content: z.unknown().optional(),
});

const viewOf = async (deps: Deps, note: Note): Promise<z.output<typeof Ticket>> => ({
  id: note.id,
  type: note.type,
  from: note.from,
  to: note.to,
  status: note.closedAt === undefined ? 'open' : 'closed',
  priority: note.priority,
  openedAt: iso(note.createdAt),
  closedAt: iso(note.closedAt),
  content: await loaded(deps.blobs, note.project, note.content),
});

export const gapRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/gaps',
    summary: 'What agents found missing, newest first, until somebody closes it',
    query: z.strictObject({
      status: z.enum(TICKET_STATUSES).default('open'),
      limit: countUpTo(100, 20),
      cursor: placeCursor.optional(),
    }),
    body: noBody,
    answers: {
      200: {
        description: 'A page; with a cursor, there may be more',
        schema: z.object({ gaps: z.array(Ticket), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { tickets, cursor } = await listTickets(deps, caller, query);
      return { status: 200, body: { gaps: await Promise.all(tickets.map((note) => viewOf(deps, note))), cursor } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/gaps/{from}/{id}/close',
    summary: 'Close a gap that is no longer one',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The gap', schema: Ticket }, 404: { description: 'No such gap' } },
    handle: async ({ deps, caller, params }) => {
      const note = await closeTicket(deps, caller, params.from ?? '', params.id ?? '');
      return { status: 200, body: await viewOf(deps, note) };
    },
  }),
];
