import { retryOnConflict } from '../kernel/retry-on-conflict.ts';
import { countTail, rollUpStatistics, type StatisticsDeps } from './roll-up.ts';
import { type Dimension, type SeriesKey, SeriesTable, TOTAL } from './series.ts';
import {
  floorTime,
  formatChunkSk,
  HOURS,
  MINUTES,
  type Resolution,
  type StatisticsChunk,
  statisticsCursorRef,
  statisticsPk,
} from './statistics-chunk.ts';
import { createTally, mergeTally, sumCounts, type Tally } from './tally.ts';

const MAX_CHUNKS = 200;
const RETRIES = { attempts: 5, pauseMs: 20 };

export interface StatisticsQuery {
  /** Epoch milliseconds, multiples of the step. */
  from: number;
  until: number;
  stepMs: number;
  by: readonly Dimension[];
}

export interface SeriesStatistics {
  /** Undefined for the total, and for what exceeds the limit of its dimension. */
  name: string | undefined;
  sum: Tally;
  /** By the time of their start. Those in which nothing happened are absent. */
  buckets: Map<number, Tally>;
}

export interface Statistics {
  total: SeriesStatistics;
  /** The busiest first. */
  groups: Map<Dimension, SeriesStatistics[]>;
  isComplete: boolean;
}

/** Steps of whole hours are read from the hours. */
export const chooseResolution = (stepMs: number): Resolution => (stepMs % HOURS.slotMs === 0 ? HOURS : MINUTES);

export const readStatistics = async (
  deps: StatisticsDeps,
  project: string,
  { from, until, stepMs, by }: StatisticsQuery,
): Promise<Statistics> => {
  const resolution = chooseResolution(stepMs);
  const { tables, isComplete } = await loadTables(deps, project, resolution, from, until);
  const series = new Map<SeriesKey, SeriesStatistics>();
  for (const table of tables) {
    for (const [key, slot, tally] of table.entries()) {
      if (slot < from || slot >= until || !isWanted(key, by)) continue;
      const one = series.get(key) ?? { name: parseName(key), sum: createTally(), buckets: new Map<number, Tally>() };
      series.set(key, one);
      const start = floorTime(slot, stepMs);
      const bucket = one.buckets.get(start) ?? createTally();
      one.buckets.set(start, bucket);
      mergeTally(bucket, tally);
      mergeTally(one.sum, tally);
    }
  }
  const total = series.get(TOTAL) ?? { name: undefined, sum: createTally(), buckets: new Map<number, Tally>() };
  const groups = new Map(by.map((dimension) => [dimension, sortByActivity(series, dimension)]));
  return { total, groups, isComplete };
};

const isWanted = (key: SeriesKey, by: readonly Dimension[]): boolean =>
  key === TOTAL || by.some((dimension) => key.startsWith(`${dimension}:`));

const parseName = (key: SeriesKey): string | undefined => key.slice(key.indexOf(':') + 1) || undefined;

/** What exceeds the limit comes last. */
const sortByActivity = (series: ReadonlyMap<SeriesKey, SeriesStatistics>, dimension: Dimension): SeriesStatistics[] =>
  [...series]
    .flatMap(([key, one]) => (key.startsWith(`${dimension}:`) ? one : []))
    .toSorted(
      (a, b) =>
        Number(a.name === undefined) - Number(b.name === undefined) ||
        sumCounts(b.sum) - sumCounts(a.sum) ||
        ((a.name ?? '') < (b.name ?? '') ? -1 : 1),
    );

/** Chunks and what is not in them yet, as of one moment: nothing moved from the log into the chunks in between. */
const loadTables = async (
  deps: StatisticsDeps,
  project: string,
  resolution: Resolution,
  from: number,
  until: number,
): Promise<{ tables: SeriesTable[]; isComplete: boolean }> => {
  const load = () =>
    retryOnConflict(`the statistics of ${project}`, RETRIES, async () => {
      const cursor = statisticsCursorRef(project);
      const before = await deps.records.get(cursor);
      const tail = await countTail(deps, project, before);
      const chunks = await loadChunks(deps, project, resolution, from, until);
      const after = await deps.records.get(cursor);
      if (before?.position !== after?.position) return undefined;
      const tables = new Map(chunks.map(({ sk, series }) => [sk, SeriesTable.fromStored(series)]));
      for (const { ref, table } of tail.additions) {
        if (!ref.sk.startsWith(resolution.kind)) continue;
        const stored = tables.get(ref.sk);
        if (stored) stored.merge(table);
        else tables.set(ref.sk, table);
      }
      return { tables: [...tables.values()], isComplete: tail.isComplete };
    });
  const loaded = await load();
  if (loaded.isComplete) return loaded;
  await rollUpStatistics(deps, project, true);
  return await load();
};

const loadChunks = async (
  { records }: StatisticsDeps,
  project: string,
  resolution: Resolution,
  from: number,
  until: number,
): Promise<StatisticsChunk[]> => {
  const first = formatChunkSk(resolution, floorTime(from, resolution.chunkMs));
  const found = await records.query<StatisticsChunk>({
    pk: statisticsPk(project),
    prefix: `${resolution.kind}#`,
    after: `${first.slice(0, -1)}${String.fromCharCode(first.charCodeAt(first.length - 1) - 1)}`,
    limit: MAX_CHUNKS,
  });
  return found.filter(({ sk }) => sk < formatChunkSk(resolution, until));
};
