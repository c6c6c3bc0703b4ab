import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { type EventPage, type EventSubject, listWantedSubjects, type ParleyEvent } from '../ports/events.ts';
import { canReadEvent } from './can-read-event.ts';
import { deduplicateEvents, type EventFormat } from './event-segment.ts';
import { followSegments } from './follow-segments.ts';

interface EventFilter {
  after?: string | undefined;
  types?: string[] | undefined;
  subject?: EventSubject | undefined;
  limit: number;
}

/** Reads of one call, each of up to 1,000 events of the log. */
const MAX_READS = 3;
const MAX_READS_BACK = 10;

/** Oldest first. Without a subject, a page is what one read brings. */
export const readEvents = async (deps: Deps, caller: Caller, filter: EventFilter): Promise<EventPage> => {
  const { types, subject, limit } = filter;
  const where = (event: ParleyEvent): boolean => canReadEvent(caller, event);
  const mostReads = listWantedSubjects(subject).length > 0 ? MAX_READS : 1;
  const events: ParleyEvent[] = [];
  let after = filter.after;
  for (let reads = 1; ; reads++) {
    const page = await deps.events.read(caller.project, { after, types, subject, where, limit: limit - events.length });
    events.push(...page.events);
    const isDone = page.cursor === after || events.length >= limit || reads >= mostReads;
    if (isDone) return { events: deduplicateEvents(events), cursor: page.cursor };
    after = page.cursor;
  }
};

/** The last ones in their order, and the cursor that goes on behind them. */
export const readLastEvents = async (
  deps: Deps,
  caller: Caller,
  { types, subject, limit }: Omit<EventFilter, 'after'>,
): Promise<EventPage> => {
  const where = (event: ParleyEvent): boolean => canReadEvent(caller, event);
  const end = await deps.events.getEnd(caller.project);
  const events: ParleyEvent[] = [];
  let after: string | undefined = end;
  for (let reads = 0; reads < MAX_READS_BACK && events.length < limit; reads++) {
    const options = { after, types, subject, where, newestFirst: true, limit: limit - events.length };
    const page: EventPage = await deps.events.read(caller.project, options);
    events.push(...page.events);
    if (page.cursor === after) break;
    after = page.cursor;
  }
  return { events: deduplicateEvents(events.toReversed()), cursor: end };
};

export async function* streamEvents(
  deps: Deps,
  caller: Caller,
  { after, types, subject, limit, format }: EventFilter & { format?: EventFormat },
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const cursor = after ?? (await deps.events.getEnd(caller.project));
  yield `id: ${cursor}\n\n`;
  for await (const found of followSegments(deps, caller, cursor, { types, limit }, signal)) {
    const text =
      found === 'quiet' ? ': still here\n\n' : found.segment.renderForCaller(found.caller, types, subject, format);
    if (text !== '') yield text;
  }
}
