import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';

/** Written to the log in a form that CloudWatch makes metrics of: no call, and none to pay for but the metrics themselves. */
const metrics = new Metrics({ namespace: 'Parley', defaultDimensions: { stage: process.env.STAGE ?? 'unknown' } });

export const counted = (counts: Record<string, number>): void => {
  for (const [name, count] of Object.entries(counts)) {
    if (count > 0) metrics.addMetric(name, MetricUnit.Count, count);
  }
  metrics.publishStoredMetrics();
};
