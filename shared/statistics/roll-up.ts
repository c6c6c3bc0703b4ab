import type { Deps } from '../identity/deps.ts';
import { retryOnConflict } from '../kernel/retry-on-conflict.ts';
import { equals } from '../ports/conditions.ts';
import type { Events, ParleyEvent } from '../ports/events.ts';
import type { TransactionWrite } from '../ports/records.ts';
import { countEvent } from './count-event.ts';
import { SeenEvents } from './seen-events.ts';
import { SeriesTable } from './series.ts';
import { Additions, type ChunkAddition, type StatisticsCursor, statisticsCursorRef } from './statistics-chunk.ts';

export type StatisticsDeps = Pick<Deps, 'records' | 'events' | 'clock' | 'newId'>;

/** Of events that one transaction counts. Usually they touch two or three chunks; a transaction takes 100. */
const STRETCH_EVENTS = 1000;
const MAX_CHUNKS = 90;
/** Of one call. */
const MAX_STRETCHES = 50;
const MIN_PAUSE_MS = 10_000;
const RETRIES = { attempts: 5, pauseMs: 20 };

const COUNTED_TYPES = ['task.*'];

/** Counts what stands in the event log and is not counted yet. Any number of processes may do it at once. */
export const rollUpStatistics = async (deps: StatisticsDeps, project: string, isUrgent = false): Promise<void> => {
  const { records, clock } = deps;
  const before = await records.get(statisticsCursorRef(project));
  if (!isUrgent && before && before.at > clock.now() - MIN_PAUSE_MS) return;
  for (let stretches = 0; stretches < MAX_STRETCHES; stretches++) {
    const isAtEnd = await retryOnConflict(`the statistics of ${project}`, RETRIES, () => rollUpStretch(deps, project));
    if (isAtEnd) return;
  }
};

/** Whether it came to the end of the log. Undefined if another process was faster. */
const rollUpStretch = async (deps: StatisticsDeps, project: string): Promise<boolean | undefined> => {
  const { records, events, newId } = deps;
  const cursor = await records.get(statisticsCursorRef(project));
  const seen = await loadSeen(events, project, cursor?.position);
  const stretch = await readStretch(deps, project, seen);
  if (stretch.isLast) return true;
  const writes = await Promise.all(stretch.additions.list().map((addition) => buildChunkWrite(deps, addition)));
  const written = await records.transact([buildCursorWrite(project, cursor, stretch.position), ...writes], newId());
  if (written.outcome === 'refused') return undefined;
  keepSeen(events, project, seen);
  return false;
};

interface Stretch {
  additions: Additions;
  position: string;
  isLast: boolean;
}

/** Advances what is seen. */
const readStretch = async ({ events, clock }: StatisticsDeps, project: string, seen: SeenEvents): Promise<Stretch> => {
  for (let limit = STRETCH_EVENTS; ; limit = Math.ceil(limit / 4)) {
    const { position: after } = seen;
    const { events: found, cursor } = await events.read(project, { after, types: COUNTED_TYPES, limit });
    if (countAll(project, found, clock.now()).size > MAX_CHUNKS) continue;
    const fresh = await seen.advance(found, cursor);
    return { additions: countAll(project, fresh, clock.now()), position: cursor, isLast: cursor === after };
  }
};

const countAll = (project: string, events: readonly ParleyEvent[], now: number): Additions => {
  const additions = new Additions(project, now);
  for (const event of events) {
    const counted = countEvent(event);
    if (counted) additions.add(counted);
  }
  return additions;
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
  const kept = seenByLog.get(events)?.get(project);
  return kept && kept.position === position ? kept.copy() : await SeenEvents.load(events, project, position);
};

const keepSeen = (events: Events, project: string, seen: SeenEvents): void => {
  const byProject = seenByLog.get(events) ?? new Map<string, SeenEvents>();
  seenByLog.set(events, byProject.set(project, seen));
};

/** What one call counts of the log itself; beyond, it is rolled up first. */
const MAX_TAIL_STRETCHES = 10;

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
  const seen = await loadSeen(deps.events, project, cursor?.position);
  const additions: ChunkAddition[] = [];
  for (let stretches = 0; stretches < MAX_TAIL_STRETCHES; stretches++) {
    const stretch = await readStretch(deps, project, seen);
    additions.push(...stretch.additions.list());
    if (stretch.isLast) return { additions, isComplete: true };
  }
  return { additions, isComplete: false };
};
