import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { METRICS_SERVICE, MetricName } from '../../shared/kernel/metrics.ts';

/** Written to the log in a form that CloudWatch makes metrics of: no call, and none to pay for but the metrics themselves. */
const metricsOptions = { namespace: 'Parley', defaultDimensions: { stage: process.env.STAGE ?? 'unknown' } };
const metrics = new Metrics(metricsOptions);
/** Its type alone is taken from there: what has a bundle of its own brings no second copy of other code. */
const serviceName: typeof METRICS_SERVICE = 'messages';
const messageMetrics = new Metrics({ ...metricsOptions, serviceName });

export const publishCounts = (counts: Record<string, number>): void => {
  for (const [name, count] of Object.entries(counts)) {
    if (count > 0) metrics.addMetric(name, MetricUnit.Count, count);
  }
  metrics.publishStoredMetrics();
};

const METRIC_UNITS: Record<MetricName, (typeof MetricUnit)[keyof typeof MetricUnit]> = {
  message_write_latency_ms: MetricUnit.Milliseconds,
  message_read_latency_ms: MetricUnit.Milliseconds,
  inbox_depth: MetricUnit.Count,
  eviction_count: MetricUnit.Count,
};

export const publishMetrics = (measurements: readonly [name: MetricName, value: number][]): void => {
  for (const [name, value] of measurements) messageMetrics.addMetric(name, METRIC_UNITS[name], value);
  messageMetrics.publishStoredMetrics();
};
