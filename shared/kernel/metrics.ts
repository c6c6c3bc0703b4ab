export interface MetricSpec {
  type: 'counter' | 'gauge' | 'histogram';
  unit: 'milliseconds' | 'count';
  help: string;
  /** The upper bounds of a histogram. */
  buckets?: readonly number[];
}

const LATENCY_BUCKETS_MS = [1, 2.5, 5, 10, 25, 50, 100, 200, 500, 1000, 2500, 10_000] as const;

/** A second to a day. */
const TASK_BUCKETS_MS = [
  10, 100, 1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000,
] as const;

/** One machine shows them at `GET /metrics`; on AWS they are metrics of CloudWatch under the same names. */
export const METRICS = {
  message_write_latency_ms: {
    type: 'histogram',
    unit: 'milliseconds',
    help: 'Time to accept a message.',
    buckets: LATENCY_BUCKETS_MS,
  },
  message_read_latency_ms: {
    type: 'histogram',
    unit: 'milliseconds',
    help: 'Time to read an inbox, without the wait for a message.',
    buckets: LATENCY_BUCKETS_MS,
  },
  inbox_depth: { type: 'gauge', unit: 'count', help: 'Messages in a bounded inbox.' },
  eviction_count: { type: 'counter', unit: 'count', help: 'Messages that a full inbox has evicted.' },
  task_submitted_count: { type: 'counter', unit: 'count', help: 'Tasks that were created.' },
  task_queued_count: {
    type: 'counter',
    unit: 'count',
    help: 'Tasks that came into a queue, for the first time or again.',
  },
  task_claimed_count: { type: 'counter', unit: 'count', help: 'Claims of tasks.' },
  task_completed_count: { type: 'counter', unit: 'count', help: 'Tasks that ended completed.' },
  task_failed_count: { type: 'counter', unit: 'count', help: 'Tasks that ended failed.' },
  task_retried_count: {
    type: 'counter',
    unit: 'count',
    help: 'Attempts that failed and are repeated, and retried tasks.',
  },
  task_released_count: { type: 'counter', unit: 'count', help: 'Attempts that ended without a result.' },
  task_expired_count: { type: 'counter', unit: 'count', help: 'Tasks that expired.' },
  task_cancelled_count: { type: 'counter', unit: 'count', help: 'Tasks that were cancelled.' },
  dead_letter_count: { type: 'counter', unit: 'count', help: 'Tasks that became dead letters: failed or expired.' },
  task_claim_latency_ms: {
    type: 'histogram',
    unit: 'milliseconds',
    help: 'Time from when a task could be claimed until it was.',
    buckets: TASK_BUCKETS_MS,
  },
  task_end_latency_ms: {
    type: 'histogram',
    unit: 'milliseconds',
    help: 'Time from the creation of a task to its end.',
    buckets: TASK_BUCKETS_MS,
  },
  refusal_count: { type: 'counter', unit: 'count', help: 'Calls that were refused, by error code.' },
  change_lag_ms: {
    type: 'histogram',
    unit: 'milliseconds',
    help: 'Age of the oldest change of a batch when all that follows from it was done.',
    buckets: LATENCY_BUCKETS_MS,
  },
  request_latency_ms: {
    type: 'histogram',
    unit: 'milliseconds',
    help: 'Time to answer a call that does not wait.',
    buckets: LATENCY_BUCKETS_MS,
  },
  open_waits: {
    type: 'gauge',
    unit: 'count',
    help: 'Calls that wait now, streams included. On AWS, the sum over a minute is how many waited on average.',
  },
  queue_depth: { type: 'gauge', unit: 'count', help: 'Tasks that wait in a queue. On AWS, in all of a project.' },
  queue_oldest_age_ms: { type: 'gauge', unit: 'milliseconds', help: 'How long the oldest of them waits.' },
  queue_in_flight: {
    type: 'gauge',
    unit: 'count',
    help: 'Tasks of a queue that an agent holds. On AWS, in all of a project.',
  },
} as const satisfies Record<string, MetricSpec>;

export type MetricName = keyof typeof METRICS;

/** What is measured of whom. On AWS a metric has no more dimensions than its stage, and the code of a refusal. */
export interface MetricLabels {
  project: string;
  agent?: string;
  queue?: string;
  code?: string;
}

/** One service for all functions that measure, so that one query finds the metrics. */
export const METRICS_SERVICE = 'messages';

export type RecordMetric = (name: MetricName, value: number, labels: MetricLabels) => void;

export const formatMetricHeader = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];
