/** What the overview draws of `GET /v1/stats`. */
export interface Statistics {
  /** In seconds. */
  times: number[];
  submitted: number[];
  completed: number[];
  failed: number[];
  claimP50: (number | null)[];
  endP50: (number | null)[];
  endP99: (number | null)[];
  totalCompleted: number;
  failures: [code: string, count: number][];
}

interface Percentiles {
  p50: number;
  p99: number;
}

interface Counts {
  submitted: number;
  completed: number;
  failed: number;
  failedByCode?: Record<string, number>;
  timeToClaim?: Percentiles;
  timeToEnd?: Percentiles;
}

export interface StatisticsAnswer {
  from: string;
  until: string;
  stepSeconds: number;
  total: Counts & { buckets: (Counts & { at: string })[] };
  pairs?: ({ requester?: string; holder?: string } & Counts)[];
}

/** Buckets in which nothing happened are absent in the answer. */
export const toStatistics = ({ from, until, stepSeconds, total }: StatisticsAnswer): Statistics => {
  const known = new Map(total.buckets.map((bucket) => [Date.parse(bucket.at) / 1000, bucket]));
  const [first, end] = [Date.parse(from) / 1000, Date.parse(until) / 1000];
  const times = Array.from(
    { length: Math.round((end - first) / stepSeconds) },
    (_, index) => first + index * stepSeconds,
  );
  const count = (name: 'submitted' | 'completed' | 'failed') => times.map((time) => known.get(time)?.[name] ?? 0);
  const percentile = (name: 'timeToClaim' | 'timeToEnd', which: keyof Percentiles) =>
    times.map((time) => known.get(time)?.[name]?.[which] ?? null);
  return {
    times,
    submitted: count('submitted'),
    completed: count('completed'),
    failed: count('failed'),
    claimP50: percentile('timeToClaim', 'p50'),
    endP50: percentile('timeToEnd', 'p50'),
    endP99: percentile('timeToEnd', 'p99'),
    totalCompleted: total.completed,
    failures: Object.entries(total.failedByCode ?? {}).toSorted(([, a], [, b]) => b - a),
  };
};
