import { ParleyError } from '../../errors.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import { type EventPage, type Events, isAmong, type ParleyEvent, type ReadOptions } from '../../ports/events.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import { cursorOf, firstSince, isBeyond, OLDEST, type Place, placeOf, refuseAhead } from '../event-place.ts';
import { inChunks } from './patience.ts';
import { together } from './together.ts';

/** Tells the world outside. */
export type Announce = (events: ParleyEvent[]) => Promise<void>;

export interface EventLog {
  records: Records;
  clock: Clock;
  newId: () => string;
  keepMs: number;
}

/** Some events that were published together. */
interface EventBatch extends Item {
  batch: ParleyEvent[];
}

/** The log is this engine's own; the bus is for others, and nothing here depends on it. */
export const eventsOn = (log: EventLog, announce: Announce): Events => {
  const appenders = new Map<string, (events: ParleyEvent[]) => Promise<void>>();
  /** One at a time in each instance: writers of one log stand in each other's way. */
  const appenderOf = (project: string) => {
    const appender = appenders.get(project) ?? together(appending(log, project));
    appenders.set(project, appender);
    return appender;
  };
  return {
    publish: async (events) => {
      const byProject = [...Map.groupBy(events, ({ project }) => project)];
      await Promise.all([...byProject.map(([project, own]) => appenderOf(project)(own)), announce(events)]);
    },
    read: (project, options) => read(log, project, options),
    end: async (project) => cursorOf({ seq: (await lastSeq(log, project)) + 1, index: 0 }),
    since: (project, time) => since(log, project, time),
    more: async (project, cursor, ms, signal) => {
      const until = log.clock.now() + ms;
      for (let pauseMs = POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_POLL_MS)) {
        const left = until - log.clock.now();
        if (left <= 0 || signal?.aborted || (await lastSeq(log, project)) >= placeOf(cursor).seq) return;
        await nap(log.clock, Math.min(pauseMs, left), signal).over;
      }
    },
  };
};

const POLL_MS = 100;
const LONGEST_POLL_MS = 1000;

const logPk = (project: string): string => `${project}#events`;
const skOf = (seq: number): string => String(seq).padStart(16, '0');
const refOf = (project: string, seq: number): Ref<EventBatch> => ({ pk: logPk(project), sk: skOf(seq) });

/** The last number in use, or the one that the log begins behind. */
const lastSeq = async (log: EventLog, project: string): Promise<number> => {
  const [last] = await log.records.query<EventBatch>({ p: logPk(project), newestFirst: true, limit: 1 });
  return last ? Number(last.sk) : ((await log.records.get(startRef(project)))?.seq ?? 0);
};

/** Where a log begins of which nothing is left: at the time, so that no earlier reader's cursor lies ahead of it. */
interface LogStart extends Item {
  seq: number;
}

const startRef = (project: string): Ref<LogStart> => ({ pk: `${project}#events-start`, sk: 'start' });
const HOUR_MS = 3_600_000;

/** All who begin at once agree on one beginning, so that nobody numbers what comes later before what is there. */
const beginning = async (log: EventLog, project: string): Promise<number> => {
  const now = log.clock.now();
  const start = { ...startRef(project), seq: now, expires: now + log.keepMs - HOUR_MS };
  const made = await log.records.create<LogStart>(start, log.newId());
  if (made.outcome === 'written') return made.after.seq;
  return made.current?.seq ?? now;
};

/** An item holds 400 KB. Most events are small, and all are packed, to a fifth for the most part. */
const MOST_IN_BATCH = 250;
const MOST_BYTES = 380 * 1024;
const bytesOf = (event: ParleyEvent): number => Buffer.byteLength(JSON.stringify(event));
/** Others may be faster, but not for ever. */
const MOST_ATTEMPTS = 50;

/**
 * Behind the last one, whoever wrote that: where somebody else took the number, the next is tried. So nobody can write
 * before a place that a reader has passed.
 */
const appending = (log: EventLog, project: string): ((events: ParleyEvent[]) => Promise<void>) => {
  /** The last number that this instance knows; others may have gone on. */
  let known: number | undefined;
  const place = async (batch: ParleyEvent[]): Promise<void> => {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const last = known ?? ((await lastSeq(log, project)) || (await beginning(log, project)));
      const expires = log.clock.now() + log.keepMs;
      const created = await log.records.create<EventBatch>(
        { ...refOf(project, last + 1), batch, expires },
        log.newId(),
      );
      known = last + 1;
      if (created.outcome === 'written') return;
      // Others are ahead: by one, or by many.
      if (attempt % 3 === 0) known = undefined;
      await nap(log.clock, Math.random() * PAUSE_MS * Math.min(attempt, 10)).over;
    }
    throw new ParleyError('conflict', `Too many writers of the event log of ${project} at once.`, { retry: 'later' });
  };
  return async (events) => {
    for (const batch of inChunks(events, MOST_IN_BATCH, MOST_BYTES, bytesOf)) await place(batch);
  };
};

const PAUSE_MS = 10;

/** How many events one read looks at, whatever its filter lets through, and how many batches it fetches at a time. */
const LOOKED_AT = 1000;
/** An answer of a function has 6 MB at the most. */
const PAGE_BYTES = 3 * 1024 * 1024;
const BATCHES = 20;

const read = async (log: EventLog, project: string, options: ReadOptions): Promise<EventPage> => {
  const { types, limit, newestFirst = false } = options;
  const until = options.until === undefined ? undefined : placeOf(options.until);
  const events: ParleyEvent[] = [];
  let place = options.after === undefined ? START[newestFirst ? 'newest' : 'oldest'] : placeOf(options.after);
  let [looked, bytes] = [0, 0];
  for (;;) {
    // The batch that the place lies in is read once more.
    const after = newestFirst ? skOf(place.seq + 1) : skOf(Math.max(0, place.seq - 1));
    const batches = await log.records.query<EventBatch>({ p: logPk(project), after, newestFirst, limit: BATCHES });
    for (const { sk, batch } of batches) {
      const seq = Number(sk);
      for (const { event, next } of passed(seq, batch, place, newestFirst)) {
        if (isBeyond(next, until, newestFirst)) return { events, cursor: cursorOf(place) };
        if (isAmong(types, event.type)) events.push(event);
        place = next;
        looked += 1;
        bytes += JSON.stringify(event.data).length;
        if (events.length === limit || looked === LOOKED_AT || bytes > PAGE_BYTES)
          return { events, cursor: cursorOf(place) };
      }
    }
    if (looked === 0 && !newestFirst) refuseAhead(place, ((await lastSeq(log, project)) || log.clock.now()) + 1);
    if (batches.length < BATCHES) return { events, cursor: cursorOf(place) };
  }
};

/** Instances' clocks differ a little, and so do the times of batches from their order. */
const CLOCKS_DIFFER_MS = 5000;

const since = async (log: EventLog, project: string, time: number): Promise<string> => {
  const firstFrom = async (seq: number) => {
    const after = skOf(Math.max(0, seq - 1));
    const batches = await log.records.query<EventBatch>({ p: logPk(project), after, limit: 1 });
    return batches[0] && { seq: Number(batches[0].sk), at: batches[0].at };
  };
  const end = (await lastSeq(log, project)) + 1;
  return cursorOf({ seq: await firstSince(time - CLOCKS_DIFFER_MS, end, firstFrom), index: 0 });
};

const START = { oldest: OLDEST, newest: { seq: 10 ** 15 - 1, index: 0 } };

/** The events of a batch that lie behind a place in the direction of the read, each with the place behind it. */
const passed = (seq: number, batch: ParleyEvent[], from: Place, newestFirst: boolean) => {
  const isHere = seq === from.seq;
  const numbered = batch.map((event, index) => ({ event, index }));
  if (newestFirst) {
    return numbered
      .filter(({ index }) => seq < from.seq || (isHere && index < from.index))
      .toReversed()
      .map(({ event, index }) => ({ event, next: { seq, index } }));
  }
  return numbered
    .filter(({ index }) => seq > from.seq || (isHere && index >= from.index))
    .map(({ event, index }) => ({
      event,
      next: index + 1 < batch.length ? { seq, index: index + 1 } : { seq: seq + 1, index: 0 },
    }));
};
