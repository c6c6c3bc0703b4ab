export interface MetricSpec {
  type: 'counter' | 'gauge' | 'histogram';
  unit: 'milliseconds' | 'count';
  help: string;
  /** The upper bounds of a histogram. */
  buckets?: readonly number[];
}

const LATENCY_BUCKETS_MS = [1, 2.5, 5, 10, 25, 50, 100, 200, 500, 1000, 2500, 10_000] as const;

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
} as const satisfies Record<string, MetricSpec>;

export type MetricName = keyof typeof METRICS;

/** What is measured of whom. On AWS a metric has no more dimensions than its stage. */
export interface MetricLabels {
  project: string;
  agent?: string;
}

/** One service for all functions that measure, so that one query finds the metrics. */
export const METRICS_SERVICE = 'messages';

export type RecordMetric = (name: MetricName, value: number, labels: MetricLabels) => void;

export const formatMetricHeader = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];
