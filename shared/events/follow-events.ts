import { type Caller, stillValid } from '../agents/authenticate.ts';
import { mayUse } from '../agents/channels.ts';
import type { Deps } from '../deps.ts';
import type { EventPage, ParleyEvent } from '../ports/events.ts';
import { maySee } from '../tasks/may-see.ts';

export interface EventFilter {
  after?: string;
  types?: string[];
  limit: number;
}

/** The event log as far as the caller may know it. */
export const readEvents = async (deps: Deps, caller: Caller, filter: EventFilter): Promise<EventPage> => {
  const page = await deps.events.read(caller.project, filter);
  const seen = new Set<string>();
  const events = page.events.filter((event) => {
    const isNew = !seen.has(event.id);
    seen.add(event.id);
    return isNew && mayHear(caller, event);
  });
  return { events, cursor: page.cursor };
};

/** An agent hears of tasks what it may see of them, of other agents' health, and of turns what is said on its channels. */
const mayHear = (caller: Caller, { type, data }: ParleyEvent): boolean => {
  if (caller.role === 'admin' || type.startsWith('agent.')) return true;
  if (typeof data.channel === 'string') return mayUse(caller, data.channel);
  return maySee(caller, { ...data, holder: data.agent });
};

/** Often enough that no proxy takes the stream for dead. */
export const KEEP_ALIVE_MS = 15_000;

/** Events as they come, as server-sent events; a reader that comes back says how far it was. */
export async function* eventStream(
  deps: Deps,
  caller: Caller,
  { after, ...filter }: EventFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  let cursor = after ?? (await deps.events.end(caller.project));
  yield `id: ${cursor}\n\n`;
  while (!signal?.aborted) {
    const page = await readEvents(deps, caller, { ...filter, after: cursor });
    const hasMoved = page.cursor !== cursor;
    cursor = page.cursor;
    if (page.events.length > 0) yield frames(page);
    if (hasMoved) continue;
    const quietFrom = deps.clock.now();
    await deps.events.more(caller.project, cursor, KEEP_ALIVE_MS, signal);
    if (deps.clock.now() - quietFrom >= KEEP_ALIVE_MS) yield ': still here\n\n';
    const still = await stillValid(deps, caller);
    if (!still) return;
    caller = still;
  }
}

/** Only the last event of a page carries its place: whoever comes back in the middle of a page gets the page again. */
const frames = ({ events, cursor }: EventPage): string =>
  events
    .map((event, index) => {
      const place = index === events.length - 1 ? `id: ${cursor}\n` : '';
      return `${place}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    })
    .join('');
