import type { MetricName, MetricSpec, RecordMetric } from '../../shared/kernel/metrics.ts';

export interface Measurement {
  name: MetricName;
  unit: MetricSpec['unit'];
  value: number;
  /** Of a refusal. */
  code?: string | undefined;
}

const pendingMetrics: Measurement[] = [];

/** Kept until the call is answered, so that all that it measured is one line of the log. */
export const recordMetric: RecordMetric = (name, value, { code }) => {
  // As their table has it, which is too large for the functions.
  pendingMetrics.push({ name, unit: name.endsWith('_ms') ? 'milliseconds' : 'count', value, code });
};

/** Most calls measure nothing, and do without what tells it. */
export const flushMetrics = async (): Promise<void> => {
  if (pendingMetrics.length === 0) return;
  const { publishMetrics } = await import('./metrics.lazy.ts');
  publishMetrics(pendingMetrics.splice(0));
};
