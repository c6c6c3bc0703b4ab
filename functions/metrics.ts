import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { MEASURED_SERVICE, Measured } from '../shared/measure.ts';

/** Written to the log in a form that CloudWatch makes metrics of: no call, and none to pay for but the metrics themselves. */
const written = { namespace: 'Parley', defaultDimensions: { stage: process.env.STAGE ?? 'unknown' } };
const metrics = new Metrics(written);
/** Its type alone is taken from there: what has a bundle of its own brings no second copy of other code. */
const serviceName: typeof MEASURED_SERVICE = 'messages';
const measured = new Metrics({ ...written, serviceName });

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

export const tell = (measurements: readonly [name: Measured, value: number][]): void => {
  for (const [name, value] of measurements) measured.addMetric(name, UNITS[name], value);
  measured.publishStoredMetrics();
};
