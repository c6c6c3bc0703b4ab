import type { Deps } from '../identity/deps.ts';
import { logRateLimited } from '../kernel/log.ts';
import type { MetricLabels, MetricName } from '../kernel/metrics.ts';

type AlertDeps = Pick<Deps, 'recordMetric' | 'metrics' | 'events' | 'log' | 'clock' | 'newId'>;

/**
 * Records a value, and tells where it is above its threshold: as a line of the log, and as an event where nobody else watches the
 * metrics. Promises nothing where there is nothing to tell, which is nearly always.
 */
export const recordWithAlert = (
  deps: AlertDeps,
  name: MetricName,
  value: number,
  { labels, agent, threshold }: { labels: MetricLabels; agent: string; threshold: number },
): Promise<void> | undefined => {
  deps.recordMetric(name, value, labels);
  return value > threshold ? tellExceeded(deps, { metric: name, value, threshold }, { ...labels, agent }) : undefined;
};

const tellExceeded = async (
  deps: AlertDeps,
  facts: { metric: MetricName; value: number; threshold: number },
  { project, agent }: MetricLabels & { agent: string },
): Promise<void> => {
  const about = { project, agent, metric: facts.metric };
  const isTold = logRateLimited(deps, about, 'metric exceeds its alert threshold', facts);
  if (!isTold || !deps.metrics) return;
  const id = `metric/${facts.metric}/${agent}:${deps.newId()}`;
  const event = { id, project, type: 'metric.exceeded' as const, at: deps.clock.now(), data: { agent, ...facts } };
  await deps.events.publish([event]);
};
