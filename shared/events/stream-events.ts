import { type Caller, revalidateCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import type { EventPage } from '../ports/events.ts';
import { canReadEvent } from './can-read-event.ts';
import { getEventFeed } from './event-feed.ts';
import { deduplicateEvents, EventSegment } from './event-segment.ts';

interface EventFilter {
  after?: string;
  types?: string[];
  limit: number;
}

export const readEvents = async (deps: Deps, caller: Caller, filter: EventFilter): Promise<EventPage> => {
  const page = await deps.events.read(caller.project, filter);
  return { events: deduplicateEvents(page.events).filter((event) => canReadEvent(caller, event)), cursor: page.cursor };
};

/** Shorter than the idle timeouts of common proxies. */
export const KEEP_ALIVE_MS = 15_000;

/** A reader at the end of the log follows the shared feed; a slower one reads the log until it has caught up. */
export async function* streamEvents(
  deps: Deps,
  caller: Caller,
  { after, types, limit }: EventFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const { project } = caller;
  let cursor = after ?? (await deps.events.getEnd(project));
  yield `id: ${cursor}\n\n`;
  const feed = getEventFeed(deps.events, deps.clock, project);
  const leave = feed.join();
  try {
    for (let who: Caller | undefined = caller; who && !signal?.aborted; who = await revalidateCaller(deps, who)) {
      const { cursor: end } = feed;
      const segment = feed.getSegmentAfter(cursor) ?? (cursor === end ? undefined : await readSegment(cursor, end));
      if (segment) {
        cursor = segment.to;
        const text = segment.renderForCaller(who, types);
        if (text !== '') yield text;
        continue;
      }
      if (feed.cursor !== end) continue;
      feed.startAt(cursor);
      const quietFrom = deps.clock.now();
      await feed.waitForMore(KEEP_ALIVE_MS, signal);
      if (deps.clock.now() - quietFrom >= KEEP_ALIVE_MS) yield ': still here\n\n';
    }
  } finally {
    leave();
  }

  async function readSegment(from: string, until: string | undefined): Promise<EventSegment | undefined> {
    const page = await feed.readBehind({ after: from, until, types, limit });
    return page.cursor === from ? undefined : new EventSegment(from, page.cursor, page.events);
  }
}
