import { type IMetric, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { METRICS_SERVICE, type MetricName } from '../../shared/kernel/metrics.ts';
import type { FunctionName } from '../function-specs.ts';
import { METRIC_PERIOD } from './metric-period.ts';

export const METRIC_NAMESPACE = 'Parley';

type ParleyMetricName = 'ChangesDispatched' | 'ChangesPutAside' | 'EventsNotPublished' | 'DueSwept' | MetricName;

type MetricService = FunctionName | typeof METRICS_SERVICE;

const buildParleyMetric = (
  stage: string,
  service: MetricService,
  metricName: ParleyMetricName,
  statistic = Stats.SUM,
): IMetric =>
  new Metric({
    namespace: METRIC_NAMESPACE,
    metricName,
    // CloudWatch finds a metric only under the exact set of its dimensions.
    dimensionsMap: { service, stage },
    statistic,
    period: METRIC_PERIOD,
    label: metricName,
  });

export const buildTaskCountMetrics = (stage: string): IMetric[] =>
  (['task_submitted_count', 'task_completed_count', 'task_failed_count', 'task_expired_count'] as const).map((name) =>
    buildMessageMetric(stage, name),
  );

export const buildChangesDispatchedMetric = (stage: string): IMetric =>
  buildParleyMetric(stage, 'dispatch', 'ChangesDispatched');

export const buildChangesPutAsideMetric = (stage: string): IMetric =>
  buildParleyMetric(stage, 'dispatch', 'ChangesPutAside');

/** These two functions execute effects and therefore publish events. */
export const buildUnpublishedEventMetrics = (stage: string): IMetric[] =>
  (['dispatch', 'replay'] as const).map((service) => buildParleyMetric(stage, service, 'EventsNotPublished'));

export const buildDueSweptMetric = (stage: string): IMetric => buildParleyMetric(stage, 'sweep', 'DueSwept');

const LATENCY_STATISTIC = Stats.percentile(95);

const buildMessageMetric = (stage: string, name: MetricName, statistic?: string): IMetric =>
  buildParleyMetric(stage, METRICS_SERVICE, name, statistic);

export const buildWriteLatencyMetric = (stage: string): IMetric =>
  buildMessageMetric(stage, 'message_write_latency_ms', LATENCY_STATISTIC);
export const buildReadLatencyMetric = (stage: string): IMetric =>
  buildMessageMetric(stage, 'message_read_latency_ms', LATENCY_STATISTIC);

export const buildInboxDepthMetric = (stage: string): IMetric =>
  buildMessageMetric(stage, 'inbox_depth', Stats.MAXIMUM);

export const buildEvictionMetric = (stage: string): IMetric => buildMessageMetric(stage, 'eviction_count');
