import { type IMetric, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { METRICS_SERVICE, type MetricName } from '../../shared/kernel/metrics.ts';
import type { FunctionName } from '../function-specs.ts';
import { METRIC_PERIOD } from './metric-period.ts';

/** Of the metrics that functions write themselves, by `functions/runtime/metrics.lazy.ts`. */
export const METRIC_NAMESPACE = 'Parley';

type ParleyMetricName =
  | 'TasksRequested'
  | 'TasksCompleted'
  | 'TasksFailed'
  | 'TasksExpired'
  | 'ChangesDispatched'
  | 'EventsNotPublished'
  | 'DueSwept'
  | MetricName;

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
    // CloudWatch finds a metric only by all the dimensions that it was written with.
    dimensionsMap: { service, stage },
    statistic,
    period: METRIC_PERIOD,
    label: metricName,
  });

export const buildTaskCountMetrics = (stage: string): IMetric[] =>
  (['TasksRequested', 'TasksCompleted', 'TasksFailed', 'TasksExpired'] as const).map((name) =>
    buildParleyMetric(stage, 'dispatch', name),
  );

export const buildChangesDispatchedMetric = (stage: string): IMetric =>
  buildParleyMetric(stage, 'dispatch', 'ChangesDispatched');

/** Both carry out changes, and so announce them. */
export const buildUnpublishedEventMetrics = (stage: string): IMetric[] =>
  (['dispatch', 'replay'] as const).map((service) => buildParleyMetric(stage, service, 'EventsNotPublished'));

export const buildDueSweptMetric = (stage: string): IMetric => buildParleyMetric(stage, 'sweep', 'DueSwept');

/** One slow call in twenty is an accident, more are a state. */
const LATENCY_STATISTIC = Stats.percentile(95);

const buildMessageMetric = (stage: string, name: MetricName, statistic?: string): IMetric =>
  buildParleyMetric(stage, METRICS_SERVICE, name, statistic);

/** How long messages of the message routing protocol take to be written and read. */
export const buildWriteLatencyMetric = (stage: string): IMetric =>
  buildMessageMetric(stage, 'message_write_latency_ms', LATENCY_STATISTIC);
export const buildReadLatencyMetric = (stage: string): IMetric =>
  buildMessageMetric(stage, 'message_read_latency_ms', LATENCY_STATISTIC);

/** Of the fullest inbox that has a limit. */
export const buildInboxDepthMetric = (stage: string): IMetric =>
  buildMessageMetric(stage, 'inbox_depth', Stats.MAXIMUM);

export const buildEvictionMetric = (stage: string): IMetric => buildMessageMetric(stage, 'eviction_count');
