import type { Caller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import type { EventPage } from '../ports/events.ts';
import { canReadEvent } from './can-read-event.ts';
import { deduplicateEvents } from './event-segment.ts';
import { followSegments } from './follow-segments.ts';

interface EventFilter {
  after?: string;
  types?: string[];
  limit: number;
}

export const readEvents = async (deps: Deps, caller: Caller, filter: EventFilter): Promise<EventPage> => {
  const page = await deps.events.read(caller.project, filter);
  return { events: deduplicateEvents(page.events).filter((event) => canReadEvent(caller, event)), cursor: page.cursor };
};

export async function* streamEvents(
  deps: Deps,
  caller: Caller,
  { after, types, limit }: EventFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const cursor = after ?? (await deps.events.getEnd(caller.project));
  yield `id: ${cursor}\n\n`;
  for await (const found of followSegments(deps, caller, cursor, { types, limit }, signal)) {
    const text = found === 'quiet' ? ': still here\n\n' : found.segment.renderForCaller(found.caller, types);
    if (text !== '') yield text;
  }
}
