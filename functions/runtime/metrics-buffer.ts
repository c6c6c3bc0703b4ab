import type { MetricName, RecordMetric } from '../../shared/kernel/metrics.ts';

const pendingMetrics: [name: MetricName, value: number][] = [];

/** Kept until the call is answered, so that all that it measured is one line of the log. */
export const recordMetric: RecordMetric = (name, value) => {
  pendingMetrics.push([name, value]);
};

/** Most calls measure nothing, and do without what tells it. */
export const flushMetrics = async (): Promise<void> => {
  if (pendingMetrics.length === 0) return;
  const { publishMetrics } = await import('./metrics.lazy.ts');
  publishMetrics(pendingMetrics.splice(0));
};
