import { DAY_MS } from '../kernel/retention.ts';
import { toSortableTime } from '../model/task.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { CountedEvent } from './count-event.ts';
import { SeriesTable, type StoredSeries } from './series.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Counts of a stretch of time, by slots. */
export interface StatisticsChunk extends Item {
  series: StoredSeries[];
}

/** Until where the event log is counted. It and the chunks change in one transaction. */
export interface StatisticsCursor extends Item {
  sk: 'statistics-cursor';
  position: string;
}

export interface Resolution {
  kind: 'statistics-minutes' | 'statistics-hours';
  slotMs: number;
  /** Of one record. */
  chunkMs: number;
  retentionMs: number;
}

export const MINUTES: Resolution = {
  kind: 'statistics-minutes',
  slotMs: MINUTE_MS,
  chunkMs: 30 * MINUTE_MS,
  retentionMs: 3 * DAY_MS,
};
export const HOURS: Resolution = {
  kind: 'statistics-hours',
  slotMs: HOUR_MS,
  chunkMs: DAY_MS,
  retentionMs: 90 * DAY_MS,
};

export const statisticsPk = (project: string): string => `${project}#statistics`;
export const statisticsCursorRef = (project: string): Ref<StatisticsCursor> => ({
  pk: statisticsPk(project),
  sk: 'statistics-cursor',
});

export const formatChunkSk = ({ kind }: Resolution, start: number): string => `${kind}#${toSortableTime(start)}`;
const chunkRef = (project: string, resolution: Resolution, start: number): Ref<StatisticsChunk> => ({
  pk: statisticsPk(project),
  sk: formatChunkSk(resolution, start),
});

/** The last multiple of a length before a time. */
export const floorTime = (at: number, lengthMs: number): number => Math.floor(at / lengthMs) * lengthMs;

/** What is new of one chunk. */
export interface ChunkAddition {
  ref: Ref<StatisticsChunk>;
  expires: number;
  table: SeriesTable;
}

/** What events add, by the chunks that hold it. Hours are the sums of minutes. */
export const toAdditions = (project: string, events: readonly CountedEvent[], now: number): ChunkAddition[] => {
  const minutes = new Map<number, SeriesTable>();
  for (const { at, entry, series } of events)
    getTable(minutes, floorTime(at, MINUTES.chunkMs)).count(series, floorTime(at, MINUTES.slotMs), entry);
  const hours = new Map<number, SeriesTable>();
  for (const [start, table] of minutes)
    getTable(hours, floorTime(start, HOURS.chunkMs)).merge(table, (slot) => floorTime(slot, HOURS.slotMs));
  return [...toChunks(project, MINUTES, minutes), ...toChunks(project, HOURS, hours)].filter(
    ({ expires }) => expires > now,
  );
};

const getTable = (tables: Map<number, SeriesTable>, start: number): SeriesTable => {
  const known = tables.get(start);
  if (known) return known;
  const table = new SeriesTable();
  tables.set(start, table);
  return table;
};

const toChunks = (project: string, resolution: Resolution, tables: ReadonlyMap<number, SeriesTable>): ChunkAddition[] =>
  [...tables].map(([start, table]) => ({
    ref: chunkRef(project, resolution, start),
    expires: start + resolution.chunkMs + resolution.retentionMs,
    table,
  }));

/** How many records of minutes events change. They change no more records of hours. */
export const countMinuteChunks = (events: readonly Pick<CountedEvent, 'at'>[]): number => {
  const starts = new Set<number>();
  for (const { at } of events) starts.add(floorTime(at, MINUTES.chunkMs));
  return starts.size;
};
