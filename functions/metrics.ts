import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Measure, Measured } from '../shared/measure.ts';

/** Written to the log in a form that CloudWatch makes metrics of: no call, and none to pay for but the metrics themselves. */
const metrics = new Metrics({ namespace: 'Parley', defaultDimensions: { stage: process.env.STAGE ?? 'unknown' } });

export const counted = (counts: Record<string, number>): void => {
  for (const [name, count] of Object.entries(counts)) {
    if (count > 0) metrics.addMetric(name, MetricUnit.Count, count);
  }
  metrics.publishStoredMetrics();
};

const UNITS: Record<Measured, (typeof MetricUnit)[keyof typeof MetricUnit]> = {
  message_write_latency_ms: MetricUnit.Milliseconds,
  message_read_latency_ms: MetricUnit.Milliseconds,
  inbox_depth: MetricUnit.Count,
  eviction_count: MetricUnit.Count,
};

/** Kept until the call is answered, so that all that it measured is one line of the log. */
export const measure: Measure = (name, value) => {
  metrics.addMetric(name, UNITS[name], value);
};

export const tellMeasured = (): void => {
  if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
};
