import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { METRICS_SERVICE } from '../../shared/kernel/metrics.ts';
import type { Measurement } from './metrics-buffer.ts';

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

const UNITS: Record<Measurement['unit'], (typeof MetricUnit)[keyof typeof MetricUnit]> = {
  milliseconds: MetricUnit.Milliseconds,
  count: MetricUnit.Count,
};

export const publishMetrics = (measurements: readonly Measurement[]): void => {
  for (const { name, unit, value, code } of measurements) {
    messageMetrics.addMetric(name, UNITS[unit], value);
    if (code !== undefined) publishByCode(name, UNITS[unit], value, code);
  }
  messageMetrics.publishStoredMetrics();
};

const publishByCode = (
  name: string,
  unit: (typeof MetricUnit)[keyof typeof MetricUnit],
  value: number,
  code: string,
): void => {
  const single = messageMetrics.singleMetric();
  single.addDimension('code', code);
  single.addMetric(name, unit, value);
};
