/** What the overview draws of `GET /v1/stats`. */
export interface Statistics {
  /** In seconds. */
  times: number[];
  submitted: number[];
  completed: number[];
  failed: number[];
  claimP50: (number | null)[];
  endP50: (number | null)[];
  endP95: (number | null)[];
  totals: { completed: number };
  failures: [code: string, count: number][];
}

interface Times {
  p50?: number;
  p95?: number;
}

interface Bucket {
  at: string;
  submitted?: number;
  completed?: number;
  failed?: number;
  timeToClaim?: Times;
  timeToEnd?: Times;
}

export const toStatistics = (answer: { buckets?: Bucket[]; failures?: Record<string, number> }): Statistics => {
  const buckets = answer.buckets ?? [];
  const pick = (name: 'submitted' | 'completed' | 'failed') => buckets.map((bucket) => bucket[name] ?? 0);
  const completed = pick('completed');
  return {
    times: buckets.map(({ at }) => Date.parse(at) / 1000),
    submitted: pick('submitted'),
    completed,
    failed: pick('failed'),
    claimP50: buckets.map(({ timeToClaim }) => timeToClaim?.p50 ?? null),
    endP50: buckets.map(({ timeToEnd }) => timeToEnd?.p50 ?? null),
    endP95: buckets.map(({ timeToEnd }) => timeToEnd?.p95 ?? null),
    totals: { completed: completed.reduce((sum, count) => sum + count, 0) },
    failures: Object.entries(answer.failures ?? {}).toSorted(([, a], [, b]) => b - a),
  };
};
