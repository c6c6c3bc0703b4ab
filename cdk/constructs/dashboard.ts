import { Dashboard, GraphWidget, type IMetric, type IWidget, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { DEFAULT_ROUTE_FUNCTION, ROUTES } from '../function-specs.ts';
import {
  buildFailedRecordMetrics,
  buildIteratorAgeMetric,
  buildOldestDeadLetterMetrics,
  buildRelayDeadLetterMetrics,
  buildStreamNotReadMetric,
  buildTableFaultMetrics,
  combineMetrics,
  type MonitoredResources,
  SCHEDULED_FUNCTIONS,
} from './aws-metrics.ts';
import { METRIC_PERIOD } from './metric-period.ts';
import {
  buildChangesDispatchedMetric,
  buildDueSweptMetric,
  buildEvictionMetric,
  buildInboxDepthMetric,
  buildReadLatencyMetric,
  buildTaskCountMetrics,
  buildUnpublishedEventMetrics,
  buildWriteLatencyMetric,
} from './parley-metrics.ts';

const createGraph = (title: string, left: IMetric[], right: IMetric[] = []): IWidget =>
  new GraphWidget({ title, left, right, width: 8, height: 6, period: METRIC_PERIOD });

export const createDashboard = (scope: Construct, stage: string, watched: MonitoredResources): Dashboard => {
  const { functions, queues, delayQueue, api } = watched;
  const buildFunctionMetrics = (names: typeof SCHEDULED_FUNCTIONS, metric: string, statistic: string): IMetric[] =>
    names.map((name) => functions[name].lambda.metric(metric, { period: METRIC_PERIOD, statistic, label: name }));
  const behindHttp = SCHEDULED_FUNCTIONS.filter(
    (name) => name === DEFAULT_ROUTE_FUNCTION || ROUTES.some(({ to }) => to === name),
  );
  /** A graph holds 500 metrics, and a search shows up to 100 of those that have values. */
  const searchQueues = (metric: string): IMetric =>
    new MathExpression({
      expression: `SEARCH('{AWS/SQS,QueueName} MetricName="${metric}" "${queues.namePrefix.slice(0, -1)}"', 'Maximum', 300)`,
      label: '',
      period: METRIC_PERIOD,
      usingMetrics: {},
    });
  return new Dashboard(scope, 'Dashboard', {
    dashboardName: `parley-${stage}`,
    widgets: [
      [
        createGraph(
          'Calls',
          [api.metricCount({ period: METRIC_PERIOD })],
          [api.metricClientError(), api.metricServerError()],
        ),
        createGraph('Answer time, 99th percentile (ms)', [api.metricLatency({ statistic: Stats.percentile(99) })]),
        createGraph('Running at once', buildFunctionMetrics(behindHttp, 'ConcurrentExecutions', Stats.MAXIMUM)),
      ],
      [
        createGraph(
          'Duration, 99th percentile (ms)',
          buildFunctionMetrics(SCHEDULED_FUNCTIONS, 'Duration', Stats.percentile(99)),
        ),
        createGraph('Errors', buildFunctionMetrics(SCHEDULED_FUNCTIONS, 'Errors', Stats.SUM)),
        createGraph('Throttles', buildFunctionMetrics(SCHEDULED_FUNCTIONS, 'Throttles', Stats.SUM)),
      ],
      [
        createGraph('Waiting in queues', [searchQueues('ApproximateNumberOfMessagesVisible')]),
        createGraph('Oldest in queues (s)', [searchQueues('ApproximateAgeOfOldestMessage')]),
        createGraph('Oldest dead letter (s)', combineMetrics('MAX', 'queues', buildOldestDeadLetterMetrics(watched)), [
          delayQueue.deadLetters.metricApproximateNumberOfMessagesVisible({ label: 'timers (number)' }),
          ...buildRelayDeadLetterMetrics(watched),
        ]),
      ],
      [
        createGraph('Stream age (ms)', [buildIteratorAgeMetric(watched)], buildFailedRecordMetrics(watched)),
        createGraph('Timers', [
          functions.sweep.lambda.metricInvocations({ label: 'sweeps' }),
          delayQueue.queue.metricNumberOfMessagesReceived({ label: 'fired' }),
          buildDueSweptMetric(stage),
        ]),
        createGraph('Stream not read', [buildStreamNotReadMetric(watched)], [buildChangesDispatchedMetric(stage)]),
      ],
      [
        createGraph('Tasks', buildTaskCountMetrics(stage)),
        createGraph('Events not published', combineMetrics('SUM', 'events', buildUnpublishedEventMetrics(stage))),
        createGraph('Table: throttled and failed calls', buildTableFaultMetrics(watched)),
      ],
      [
        createGraph('Message routing: writes and reads (ms)', [
          buildWriteLatencyMetric(stage),
          buildReadLatencyMetric(stage),
        ]),
        createGraph('Message routing: fullest inbox', [buildInboxDepthMetric(stage)]),
        createGraph('Message routing: evictions', [buildEvictionMetric(stage)]),
      ],
    ],
  });
};
