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
const RESOLUTIONS = [MINUTES, HOURS] as const;

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

/** By the chunks that hold it. */
export class Additions {
  readonly #byChunk = new Map<string, ChunkAddition>();
  readonly #project: string;
  readonly #now: number;

  constructor(project: string, now: number) {
    this.#project = project;
    this.#now = now;
  }

  add({ at, entry, series }: CountedEvent): void {
    for (const resolution of RESOLUTIONS) {
      const start = floorTime(at, resolution.chunkMs);
      const expires = start + resolution.chunkMs + resolution.retentionMs;
      if (expires <= this.#now) continue;
      const ref = chunkRef(this.#project, resolution, start);
      const known = this.#byChunk.get(ref.sk) ?? { ref, expires, table: new SeriesTable() };
      this.#byChunk.set(ref.sk, known);
      known.table.count(series, floorTime(at, resolution.slotMs), entry);
    }
  }

  get size(): number {
    return this.#byChunk.size;
  }

  list(): ChunkAddition[] {
    return [...this.#byChunk.values()];
  }
}
