import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { MEASURED_SERVICE, type Measured } from '../shared/measure.ts';

/** Written to the log in a form that CloudWatch makes metrics of: no call, and none to pay for but the metrics themselves. */
const written = { namespace: 'Parley', defaultDimensions: { stage: process.env.STAGE ?? 'unknown' } };
const metrics = new Metrics(written);
const measured = new Metrics({ ...written, serviceName: MEASURED_SERVICE });

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
