import { ParleyError } from '../../errors.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { EventPage, Events, ParleyEvent, ReadOptions } from '../../ports/events.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import { backOff, inChunks } from './patience.ts';

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
  /** The last number that this instance knows of each project's log; others may have gone on. */
  const ends = new Map<string, number>();
  return {
    publish: async (events) => {
      const byProject = [...Map.groupBy(events, ({ project }) => project)];
      await Promise.all([...byProject.map(([project, own]) => append(log, ends, project, own)), announce(events)]);
    },
    read: (project, options) => read(log, project, options),
    end: async (project) => cursorOf({ seq: (await lastSeq(log, project)) + 1, index: 0 }),
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

const lastSeq = async ({ records }: EventLog, project: string): Promise<number> => {
  const [last] = await records.query<EventBatch>({ p: logPk(project), newestFirst: true, limit: 1 });
  return Number(last?.sk ?? 0);
};

/** An item holds 400 KB; events are small, and packed to a fifth. */
const MOST_IN_BATCH = 250;

/**
 * Behind the last one, whoever wrote that: where somebody else took the number, the next is tried. So nobody can write
 * before a place that a reader has passed.
 */
const append = async (log: EventLog, ends: Map<string, number>, project: string, events: ParleyEvent[]) => {
  const expires = log.clock.now() + log.keepMs;
  for (const batch of inChunks(events, MOST_IN_BATCH)) {
    for (let attempt = 0; ; attempt++) {
      const last = (attempt === 0 ? ends.get(project) : undefined) ?? (await lastSeq(log, project));
      // A log of which nothing is left begins at the time, so that no cursor of an earlier reader lies ahead of it.
      const seq = last === 0 ? log.clock.now() : last + 1;
      const created = await log.records.create<EventBatch>({ ...refOf(project, seq), batch, expires }, log.newId());
      ends.set(project, seq);
      if (created.outcome === 'written') break;
      if (attempt > 0) await backOff(log.clock, Math.min(attempt, MOST_BACKOFF), 'The event log');
    }
  }
};

/** Whoever meets others here wins in the end, so that the pause stops growing. */
const MOST_BACKOFF = 4;

/** How many events one read looks at, whatever its filter lets through, and how many batches it fetches at a time. */
const LOOKED_AT = 1000;
const BATCHES = 20;

/** A place between two events: before the one with this number in this batch. */
interface Place {
  seq: number;
  index: number;
}

const read = async (log: EventLog, project: string, options: ReadOptions): Promise<EventPage> => {
  const { types, limit, newestFirst = false } = options;
  const events: ParleyEvent[] = [];
  let place = options.after === undefined ? START[newestFirst ? 'newest' : 'oldest'] : placeOf(options.after);
  let looked = 0;
  for (;;) {
    // The batch that the place lies in is read once more.
    const after = newestFirst ? skOf(place.seq + 1) : skOf(Math.max(0, place.seq - 1));
    const batches = await log.records.query<EventBatch>({ p: logPk(project), after, newestFirst, limit: BATCHES });
    for (const { sk, batch } of batches) {
      const seq = Number(sk);
      for (const { event, next } of passed(seq, batch, place, newestFirst)) {
        if (!types || types.includes(event.type)) events.push(event);
        place = next;
        looked += 1;
        if (events.length === limit || looked === LOOKED_AT) return { events, cursor: cursorOf(place) };
      }
    }
    if (batches.length < BATCHES) return { events, cursor: cursorOf(place) };
  }
};

const START = { oldest: { seq: 0, index: 0 }, newest: { seq: 10 ** 15 - 1, index: 0 } };

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

const cursorOf = ({ seq, index }: Place): string => `${seq}.${index}`;

const placeOf = (cursor: string): Place => {
  const [, seq, index] = /^(\d{1,15})\.(\d{1,6})$/.exec(cursor) ?? [];
  if (seq !== undefined) return { seq: Number(seq), index: Number(index) };
  throw new ParleyError('invalid_request', 'The cursor is not one that the event log gave.');
};
