import { readStatistics } from './read-statistics.ts';
import type { StatisticsDeps } from './roll-up.ts';
import { floorTime, MINUTES } from './statistics-chunk.ts';

export const RECENT_MINUTES = 5;

export interface RecentTraffic {
  arrivals: number;
  claims: number;
}

/** Of each queue by its id, in the last minutes. Undefined for a queue of too many. */
export const readRecentTraffic = async (
  deps: StatisticsDeps,
  project: string,
): Promise<(queueId: string) => RecentTraffic | undefined> => {
  const { slotMs: stepMs } = MINUTES;
  const until = floorTime(deps.clock.now(), stepMs) + stepMs;
  const from = until - (RECENT_MINUTES + 1) * stepMs;
  const { groups } = await readStatistics(deps, project, { from, until, stepMs, by: ['queue'] });
  const queues = groups.get('queue') ?? [];
  const known = new Map(
    queues.map(({ name, sum: { counts } }) => [name, { arrivals: counts.queued ?? 0, claims: counts.claimed ?? 0 }]),
  );
  const absent = known.has(undefined) ? undefined : { arrivals: 0, claims: 0 };
  return (queueId) => known.get(queueId) ?? absent;
};
