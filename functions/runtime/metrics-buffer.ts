import type { MetricName, MetricSpec, RecordMetric } from '../../shared/kernel/metrics.ts';

export interface Measurement {
  name: MetricName;
  unit: MetricSpec['unit'];
  value: number;
  /** Of a refusal. */
  code?: string | undefined;
}

/** What every call measures waits for others of its instance: a line for each call would cost more than the metric. */
const GATHERED: readonly MetricName[] = ['request_latency_ms', 'open_waits'];
const GATHER_MS = 60_000;
/** As many values as a line can have of one metric. */
const MAX_GATHERED = 100;

const pendingMetrics: Measurement[] = [];
let oldestAt = 0;

/** Kept until the call is answered, so that all that it measured is one line of the log. */
export const recordMetric: RecordMetric = (name, value, { code }) => {
  if (pendingMetrics.length === 0) oldestAt = Date.now();
  // As their table has it, which is too large for the functions.
  const unit = name.endsWith('_ms') ? 'milliseconds' : 'count';
  pendingMetrics.push({ name, unit, value: Math.round(value * 1000) / 1000, code });
};

/** Most calls measure nothing else, and do without what tells it. An instance that ends takes its last minute with it. */
export const flushMetrics = async (): Promise<void> => {
  const isDue = pendingMetrics.length >= MAX_GATHERED || Date.now() - oldestAt >= GATHER_MS;
  if (pendingMetrics.length === 0) return;
  if (!isDue && pendingMetrics.every(({ name }) => GATHERED.includes(name))) return;
  const { publishMetrics } = await import('./metrics.lazy.ts');
  publishMetrics(pendingMetrics.splice(0));
};
