import { type IMetric, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
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
  | 'DueSwept';

const ownMetric = (stage: string, service: FunctionName, metricName: OwnMetric): IMetric =>
  new Metric({
    namespace: NAMESPACE,
    metricName,
    // CloudWatch finds a metric only by all the dimensions that it was written with.
    dimensionsMap: { service, stage },
    statistic: Stats.SUM,
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
