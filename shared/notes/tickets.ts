import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { canonicalId } from '../ids.ts';
import { perform } from '../perform.ts';
import { is } from '../ports/conditions.ts';
import type { IndexKey } from '../ports/records.ts';
import { placeInTime } from '../tasks/task.ts';
import { isTicket, type Note, noteRef } from './note.ts';

export const TICKET_STATUSES = ['open', 'closed'] as const;
export type TicketStatus = (typeof TICKET_STATUSES)[number];

/** A note that stays on a list, read or not, until somebody closes it, stands there by its second place in an index. */
export const ticketPlace = (
  { project, from, id }: Pick<Note, 'project' | 'from' | 'id'>,
  status: TicketStatus,
  openedAt: number,
): IndexKey => placeInTime(ticketsOf(project, status), openedAt, `${from}:${id}`);

const ticketsOf = (project: string, status: TicketStatus): string => `${project}#tickets#${status}`;

export interface TicketPage {
  tickets: Note[];
  cursor?: string;
}

/** The newest first; an agent sees those that it opened or was sent. */
export const listTickets = async (
  deps: Deps,
  caller: Caller,
  { status, limit, cursor }: { status: TicketStatus; limit: number; cursor?: string },
): Promise<TicketPage> => {
  const p = ticketsOf(caller.project, status);
  const found = await deps.records.query<Note>({ index: 'held', p, after: cursor, newestFirst: true, limit });
  const tickets = found.filter((note) => isConcerned(caller, note));
  return { tickets, cursor: found.length === limit ? found.at(-1)?.held?.s : undefined };
};

const isConcerned = (caller: Caller, { from, to }: Note): boolean =>
  caller.role === 'admin' || [from, to].includes(caller.known.agent.id);

/** From now on it is kept for as long as a task that has ended. Closing twice is the same as once. */
export const closeTicket = async (deps: Deps, caller: Caller, from: string, id: string): Promise<Note> => {
  const { project } = caller;
  const now = deps.clock.now();
  const done = await perform(deps.records, noteRef(project, from, canonicalId(id)), deps.newId(), undefined, (note) => {
    if (!note || !isTicket(note) || !isConcerned(caller, note)) {
      throw new ParleyError('not_found', `There is no ticket ${id} of ${from}.`);
    }
    if (note.closedAt !== undefined) return 'unchanged';
    const held = ticketPlace(note, 'closed', note.createdAt);
    return { if: is('v', note.v), set: { held, closedAt: now, expires: now + deps.config.tasks.keepMs } };
  });
  return done.outcome === 'changed' ? done.after : done.record;
};
