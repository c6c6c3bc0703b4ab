import * as z from 'zod';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { countValues, findPercentile, type Histogram } from '../../statistics/histogram.ts';
import {
  chooseResolution,
  readStatistics,
  type SeriesStatistics,
  type StatisticsQuery,
} from '../../statistics/read-statistics.ts';
import { DIMENSIONS, type Dimension } from '../../statistics/series.ts';
import { COUNT_NAMES, type Tally } from '../../statistics/tally.ts';
import { boundedCount, defineKeyRoute, type Route } from '../route.ts';
import { commaSeparated } from './list-query.ts';

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MINUTE_MS = UNIT_MS.m;
const MAX_WINDOW_MS = 90 * UNIT_MS.d;
const MAX_BUCKETS = 1500;
/** Of all series together: more would be an answer of several MB. */
const MAX_GROUP_BUCKETS = 10_000;
const STEPS_MS = [1, 5, 15, 60, 360, 1440].map((minutes) => minutes * MINUTE_MS);
const USUAL_BUCKETS = 120;

const duration = (description: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,6}[smhd]?$/, 'must be a number of seconds, or a number with s, m, h or d: `15m`')
    .transform((text) => parseDuration(text))
    .refine((ms) => ms % MINUTE_MS === 0, 'must be whole minutes')
    .refine((ms) => ms <= MAX_WINDOW_MS, 'must be at most 90 days')
    .optional()
    .meta({ type: 'string', description, examples: ['15m'] });

const parseDuration = (text: string): number => {
  const unit = text.at(-1) ?? '';
  return unit in UNIT_MS ? Number(text.slice(0, -1)) * UNIT_MS[unit as keyof typeof UNIT_MS] : Number(text) * UNIT_MS.s;
};

const PercentilesView = z
  .object({ count: z.number().int(), p50: z.number(), p90: z.number(), p99: z.number() })
  .describe('milliseconds, to about a tenth')
  .meta({ id: 'Percentiles' });

const MEANINGS: Record<(typeof COUNT_NAMES)[number], string> = {
  submitted: 'tasks that were created',
  queued: 'tasks that came into their queue, for the first time or again',
  claimed: 'claims',
  completed: 'tasks that ended completed',
  failed: 'tasks that ended failed',
  retried: 'attempts that failed and are repeated, and ended tasks that somebody queued again',
  released: 'attempts that ended without a result: given back, or the lease ended',
  expired: 'tasks that expired',
  cancelled: 'tasks that were cancelled',
};

const CountsView = z.object({
  ...(Object.fromEntries(COUNT_NAMES.map((name) => [name, z.number().int().describe(MEANINGS[name])])) as Record<
    (typeof COUNT_NAMES)[number],
    z.ZodNumber
  >),
  failedByCode: z
    .record(z.string(), z.number().int())
    .optional()
    .describe('`failed` by error code. Codes beyond 20 are counted under `other`'),
  timeToClaim: PercentilesView.optional().describe('from when it could be claimed until it was'),
  timeToEnd: PercentilesView.optional().describe('from its creation to its end, whichever that was'),
});

const BucketView = CountsView.extend({ at: z.iso.datetime().describe('the start of the bucket') }).meta({
  id: 'StatisticsBucket',
});

const seriesShape = {
  ...CountsView.shape,
  buckets: z.array(BucketView).describe('oldest first. A bucket in which nothing happened is absent'),
};

const GroupView = z
  .object({
    domain: z.string().optional(),
    capability: z.string().optional(),
    requester: z.string().optional(),
    holder: z.string().optional(),
    queue: z.string().optional().describe('its id in `GET /v1/queues`'),
    other: z.literal(true).optional().describe('all that exceeds the limit of series'),
    ...seriesShape,
  })
  .meta({ id: 'StatisticsGroup' });

const groupsShape = Object.fromEntries(
  DIMENSIONS.map((dimension) => [toGroupName(dimension), z.array(GroupView).optional()]),
) as Record<string, z.ZodOptional<z.ZodArray<typeof GroupView>>>;

function toGroupName(dimension: Dimension): string {
  return { capability: 'capabilities' }[dimension as string] ?? `${dimension}s`;
}

const toPercentiles = (histogram: Histogram): z.output<typeof PercentilesView> | undefined => {
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => findPercentile(histogram, share));
  return p50 === undefined || p90 === undefined || p99 === undefined
    ? undefined
    : { count: countValues(histogram), p50, p90, p99 };
};

const toCountsView = ({ counts, failures, claimTimes, endTimes }: Tally): z.output<typeof CountsView> => ({
  ...(Object.fromEntries(COUNT_NAMES.map((name) => [name, counts[name] ?? 0])) as Record<
    (typeof COUNT_NAMES)[number],
    number
  >),
  failedByCode: failures.size > 0 ? Object.fromEntries(failures) : undefined,
  timeToClaim: toPercentiles(claimTimes),
  timeToEnd: toPercentiles(endTimes),
});

const toSeriesView = ({ sum, buckets }: SeriesStatistics) => ({
  ...toCountsView(sum),
  buckets: [...buckets]
    .toSorted(([a], [b]) => a - b)
    .map(([start, tally]) => ({ at: new Date(start).toISOString(), ...toCountsView(tally) })),
});

const toGroupView = (dimension: Dimension, series: SeriesStatistics): z.output<typeof GroupView> => {
  const { name } = series;
  return { ...(name === undefined ? { other: true } : toNames(dimension, name)), ...toSeriesView(series) };
};

const toNames = (dimension: Dimension, name: string): Record<string, string> => {
  if (dimension !== 'pair') return { [dimension]: name };
  const [requester = '', holder = ''] = name.split('/');
  return { requester, holder };
};

interface TimeQuery {
  window?: number | undefined;
  step?: number | undefined;
  by?: Dimension[] | undefined;
  limit: number;
}

const toStatisticsQuery = (
  { clock }: Deps,
  { window = UNIT_MS.h, step, by = [], limit }: TimeQuery,
): StatisticsQuery => {
  const stepMs = step ?? STEPS_MS.find((one) => window / one <= USUAL_BUCKETS) ?? UNIT_MS.d;
  const buckets = Math.ceil(window / stepMs);
  if (buckets > MAX_BUCKETS)
    throw invalidQueryError(
      `${buckets} buckets are too many. Up to ${MAX_BUCKETS} are possible: choose a longer step.`,
    );
  if (by.length * limit * buckets > MAX_GROUP_BUCKETS)
    throw invalidQueryError('These are too many buckets. Choose a longer step, a lower limit or fewer groups.');
  const now = clock.now();
  const { retentionMs } = chooseResolution(stepMs);
  if (window > retentionMs)
    throw invalidQueryError('Minutes are kept for 3 days. For a longer window, choose a step of whole hours.');
  const until = (Math.floor(now / stepMs) + 1) * stepMs;
  return { from: until - buckets * stepMs, until, stepMs, by };
};

const invalidQueryError = (message: string): ParleyError => new ParleyError('invalid_request', message);

export const statisticsRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'getStatistics',
    method: 'GET',
    path: '/v1/stats',
    access: 'admin',
    summary: 'Count what happened to tasks in a window of time, in buckets, also by domain, capability, agent or pair',
    query: z.strictObject({
      window: duration('how far back, up to 90 days: `1h` if not given'),
      step: duration(
        'the length of a bucket: up to 1500 buckets. Without it, about 100. Minutes are kept for 3 days, hours for 90',
      ),
      by: commaSeparated(DIMENSIONS).optional(),
      limit: boundedCount(100, 20).describe('the busiest of each group'),
    }),
    responses: {
      200: {
        description: 'The counts. A task that was retried may end several times',
        schema: z.object({
          from: z.iso.datetime(),
          until: z.iso.datetime().describe('the end of the last bucket, which goes on'),
          stepSeconds: z.number().int(),
          isComplete: z.boolean().describe('false if the last events are not counted yet, because there are too many'),
          total: z.object(seriesShape),
          ...groupsShape,
        }),
      },
    },
    handle: async ({ deps, caller: { project }, query }) => {
      const wanted = toStatisticsQuery(deps, query);
      const { total, groups, isComplete } = await readStatistics(deps, project, wanted);
      return {
        status: 200,
        body: {
          from: new Date(wanted.from).toISOString(),
          until: new Date(wanted.until).toISOString(),
          stepSeconds: wanted.stepMs / 1000,
          isComplete,
          total: toSeriesView(total),
          ...Object.fromEntries(
            [...groups].map(([dimension, series]) => [
              toGroupName(dimension),
              series.slice(0, query.limit).map((one) => toGroupView(dimension, one)),
            ]),
          ),
        },
      };
    },
  }),
];
