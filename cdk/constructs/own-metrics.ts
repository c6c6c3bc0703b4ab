import { type IMetric, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { MEASURED_SERVICE, type Measured } from '../../shared/measure.ts';
import type { FunctionName } from '../functions.ts';
import { PERIOD } from './period.ts';

/** Of the metrics that functions write themselves, by `functions/metrics.ts`. */
export const NAMESPACE = 'Parley';

type OwnMetric =
  | 'TasksRequested'
  | 'TasksCompleted'
  | 'TasksFailed'
  | 'TasksExpired'
  | 'ChangesDispatched'
  | 'EventsNotAnnounced'
  | 'DueSwept'
  | Measured;

type Service = FunctionName | typeof MEASURED_SERVICE;

const ownMetric = (stage: string, service: Service, metricName: OwnMetric, statistic = Stats.SUM): IMetric =>
  new Metric({
    namespace: NAMESPACE,
    metricName,
    // CloudWatch finds a metric only by all the dimensions that it was written with.
    dimensionsMap: { service, stage },
    statistic,
    period: PERIOD,
    label: metricName,
  });

export const taskCounts = (stage: string): IMetric[] =>
  (['TasksRequested', 'TasksCompleted', 'TasksFailed', 'TasksExpired'] as const).map((name) =>
    ownMetric(stage, 'dispatch', name),
  );

export const changesDispatched = (stage: string): IMetric => ownMetric(stage, 'dispatch', 'ChangesDispatched');

/** Both carry out changes, and so announce them. */
export const eventsNotAnnounced = (stage: string): IMetric[] =>
  (['dispatch', 'replay'] as const).map((service) => ownMetric(stage, service, 'EventsNotAnnounced'));

export const dueSwept = (stage: string): IMetric => ownMetric(stage, 'sweep', 'DueSwept');

/** One slow call in twenty is an accident, more are a state. */
const SLOW = Stats.percentile(95);

const measured = (stage: string, name: Measured, statistic?: string): IMetric =>
  ownMetric(stage, MEASURED_SERVICE, name, statistic);

/** How long messages of the message routing protocol take to be written and read. */
export const writeLatency = (stage: string): IMetric => measured(stage, 'message_write_latency_ms', SLOW);
export const readLatency = (stage: string): IMetric => measured(stage, 'message_read_latency_ms', SLOW);

/** Of the fullest inbox that has a limit. */
export const inboxDepth = (stage: string): IMetric => measured(stage, 'inbox_depth', Stats.MAXIMUM);

export const evictions = (stage: string): IMetric => measured(stage, 'eviction_count');
