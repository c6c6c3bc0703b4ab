import { type Caller, revalidateCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { getEventFeed } from './event-feed.ts';
import { EventSegment } from './event-segment.ts';

/** Shorter than the idle timeouts of common proxies. */
export const KEEP_ALIVE_MS = 15_000;

interface FollowOptions {
  types?: string[] | undefined;
  /** Of one read, behind the end of the log. */
  limit: number;
}

interface FollowedSegment {
  segment: EventSegment;
  /** As registered now. */
  caller: Caller;
}

/**
 * A reader at the end of the log follows the shared feed; a slower one reads the log until it has caught up. `quiet` comes when
 * nothing else has for a while.
 */
export async function* followSegments(
  deps: Deps,
  caller: Caller,
  after: string,
  { types, limit }: FollowOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<FollowedSegment | 'quiet'> {
  let cursor = after;
  const feed = getEventFeed(deps.events, deps.clock, caller.project);
  const leave = feed.join();
  try {
    for (let who: Caller | undefined = caller; who && !signal?.aborted; who = await revalidateCaller(deps, who)) {
      const { cursor: end } = feed;
      const segment = feed.getSegmentAfter(cursor) ?? (cursor === end ? undefined : await readSegment(cursor, end));
      if (segment) {
        cursor = segment.to;
        yield { segment, caller: who };
        continue;
      }
      if (feed.cursor !== end) continue;
      feed.startAt(cursor);
      const quietFrom = deps.clock.now();
      await feed.waitForMore(KEEP_ALIVE_MS, signal);
      if (deps.clock.now() - quietFrom >= KEEP_ALIVE_MS) yield 'quiet';
    }
  } finally {
    leave();
  }

  async function readSegment(from: string, until: string | undefined): Promise<EventSegment | undefined> {
    const page = await feed.readBehind({ after: from, until, types, limit });
    return page.cursor === from ? undefined : new EventSegment(from, page.cursor, page.events);
  }
}
