import { setImmediate as endTurn } from 'node:timers/promises';
import type { Deps } from '../identity/deps.ts';
import { retryOnConflict } from '../kernel/retry-on-conflict.ts';
import { equals } from '../ports/conditions.ts';
import type { Events, ParleyEvent } from '../ports/events.ts';
import type { TransactionWrite } from '../ports/records.ts';
import { type CountedEvent, countEvent } from './count-event.ts';
import { SeenEvents } from './seen-events.ts';
import { SeriesTable } from './series.ts';
import {
  type ChunkAddition,
  countMinuteChunks,
  type StatisticsCursor,
  statisticsCursorRef,
  toAdditions,
} from './statistics-chunk.ts';

export type StatisticsDeps = Pick<Deps, 'records' | 'events' | 'clock' | 'newId'>;

const PAGE_EVENTS = 1000;
/** Of what one transaction counts. */
const MAX_PAGES = 5;
/** Usually there are one or two. A transaction takes 100 writes: these of two pages, as many of hours, and the cursor. */
const MAX_MINUTE_CHUNKS = 24;
/** Of one call. */
const MAX_STRETCHES = 10;
const MIN_PAUSE_MS = 10_000;
const RETRIES = { attempts: 5, pauseMs: 20 };

const COUNTED_TYPES = ['task.*'];

/** Counts what stands in the event log and is not counted yet. Any number of processes may do it at once. */
export const rollUpStatistics = async (deps: StatisticsDeps, project: string, isUrgent = false): Promise<void> => {
  const { records, events, clock } = deps;
  const before = await records.get(statisticsCursorRef(project));
  if (!isUrgent && before && before.at > clock.now() - MIN_PAUSE_MS) return;
  // What comes meanwhile is for the next: on a busy log, each few events would cost a transaction.
  const end = await events.getEnd(project);
  for (let stretches = 0; stretches < MAX_STRETCHES; stretches++) {
    const roll = () => rollUpStretch(deps, project, end);
    const isAtEnd = await retryOnConflict(`the statistics of ${project}`, RETRIES, roll);
    if (isAtEnd) return;
  }
};

/** Whether it came to the end. Undefined if another process was faster. */
const rollUpStretch = async (deps: StatisticsDeps, project: string, end: string): Promise<boolean | undefined> => {
  const { records, events, newId } = deps;
  const cursor = await records.get(statisticsCursorRef(project));
  const seen = await loadSeen(events, project, cursor?.position);
  const { additions, position, isFull } = await readStretch(deps, project, seen, end);
  if (position !== undefined && position !== cursor?.position) {
    const writes = await Promise.all(additions.map((addition) => buildChunkWrite(deps, addition)));
    const written = await records.transact([buildCursorWrite(project, cursor, position), ...writes], newId());
    if (written.outcome === 'refused') return undefined;
  }
  keepSeen(events, project, seen);
  return !isFull;
};

interface Stretch {
  additions: ChunkAddition[];
  position: string | undefined;
  /** There may be more behind it. */
  isFull: boolean;
}

/** Advances what is seen. */
const readStretch = async (deps: StatisticsDeps, project: string, seen: SeenEvents, end: string): Promise<Stretch> => {
  const counted: CountedEvent[] = [];
  let [isFull, pages] = [true, 0];
  for (; isFull && pages < MAX_PAGES && countMinuteChunks(counted) < MAX_MINUTE_CHUNKS; pages++) {
    const before = seen.position;
    for (const event of await readPage(deps, project, seen, end)) {
      const one = countEvent(event);
      if (one) counted.push(one);
    }
    isFull = seen.position !== before && seen.position !== end;
  }
  return { additions: toAdditions(project, counted, deps.clock.now()), position: seen.position, isFull };
};

/** Few enough to change no more records than a transaction can. */
const readPage = async (
  { events }: StatisticsDeps,
  project: string,
  seen: SeenEvents,
  until: string,
): Promise<ParleyEvent[]> => {
  for (let limit = PAGE_EVENTS; ; limit = Math.ceil(limit / 4)) {
    // A page takes milliseconds: others have their turn in between.
    await endTurn();
    const { events: found, cursor } = await events.read(project, {
      after: seen.position,
      until,
      types: COUNTED_TYPES,
      limit,
    });
    if (countMinuteChunks(found) <= MAX_MINUTE_CHUNKS) return await seen.advance(found, cursor);
  }
};

const buildCursorWrite = (project: string, cursor: StatisticsCursor | undefined, position: string): TransactionWrite =>
  cursor
    ? {
        kind: 'update',
        key: statisticsCursorRef(project),
        change: { if: equals('position', cursor.position), set: { position } },
      }
    : { kind: 'create', item: { ...statisticsCursorRef(project), position } };

const buildChunkWrite = async (
  { records }: StatisticsDeps,
  { ref, expires, table }: ChunkAddition,
): Promise<TransactionWrite> => {
  const stored = await records.get(ref);
  if (!stored) return { kind: 'create', item: { ...ref, expires, series: table.toStored() } };
  const sum = SeriesTable.fromStored(stored.series);
  sum.merge(table);
  return { kind: 'update', key: ref, change: { if: equals('v', stored.v), set: { series: sum.toStored() } } };
};

/** By the process that counted last, for which they need not be read again. */
const seenByLog = new WeakMap<Events, Map<string, SeenEvents>>();

const loadSeen = async (events: Events, project: string, position: string | undefined): Promise<SeenEvents> => {
  const kept = getSeen(events, project, position);
  // Who advances it puts it back.
  if (kept) seenByLog.get(events)?.delete(project);
  return kept ?? (await SeenEvents.load(events, project, position));
};

const getSeen = (events: Events, project: string, position: string | undefined): SeenEvents | undefined => {
  const kept = seenByLog.get(events)?.get(project);
  return kept?.position === position ? kept : undefined;
};

const keepSeen = (events: Events, project: string, seen: SeenEvents): void => {
  const byProject = seenByLog.get(events) ?? new Map<string, SeenEvents>();
  seenByLog.set(events, byProject.set(project, seen));
};

/** What one call counts of the log itself; beyond, it is rolled up first. */
const MAX_TAIL_STRETCHES = 2;

export interface Tail {
  additions: ChunkAddition[];
  /** False if there is more in the log than a call counts. */
  isComplete: boolean;
}

/** What is in the log and not rolled up. */
export const countTail = async (
  deps: StatisticsDeps,
  project: string,
  cursor: StatisticsCursor | undefined,
): Promise<Tail> => {
  const kept = getSeen(deps.events, project, cursor?.position)?.copy();
  const seen = kept ?? (await SeenEvents.load(deps.events, project, cursor?.position));
  const end = await deps.events.getEnd(project);
  const additions: ChunkAddition[] = [];
  for (let stretches = 0; stretches < MAX_TAIL_STRETCHES; stretches++) {
    const stretch = await readStretch(deps, project, seen, end);
    additions.push(...stretch.additions);
    if (!stretch.isFull) return { additions, isComplete: true };
  }
  return { additions, isComplete: false };
};
