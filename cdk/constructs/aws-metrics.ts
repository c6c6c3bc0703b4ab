import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { FUNCTION_NAMES, type FunctionName, MANUAL_FUNCTIONS } from '../function-specs.ts';
import type { DelayQueue } from './delay-queue.ts';
import type { RefusedCallMetrics } from './http-api.ts';
import { METRIC_PERIOD } from './metric-period.ts';
import type { ParleyFunction } from './parley-function.ts';
import type { TaskQueues } from './task-queues.ts';

export interface MonitoredResources {
  functions: Record<FunctionName, ParleyFunction>;
  table: Table;
  queues: TaskQueues;
  delayQueue: DelayQueue;
  /** None while the deployment is paused. */
  stream: EventSourceMapping[];
  api: HttpApi;
  refusedCalls: RefusedCallMetrics;
  /** Of the subscriptions. */
  lostEvents: Queue[];
}

/** CloudWatch allows ten metrics in one alarm expression. */
const MAX_METRICS_PER_EXPRESSION = 10;

export const combineMetrics = (how: 'MAX' | 'SUM', label: string, metrics: IMetric[]): MathExpression[] => {
  const chunks = Array.from({ length: Math.ceil(metrics.length / MAX_METRICS_PER_EXPRESSION) }, (_, at) =>
    metrics.slice(at * MAX_METRICS_PER_EXPRESSION, (at + 1) * MAX_METRICS_PER_EXPRESSION),
  );
  return chunks.map((chunk) => {
    const named = chunk.map((metric, at): [string, IMetric] => [`m${at}`, metric]);
    return new MathExpression({
      label,
      period: METRIC_PERIOD,
      expression: `${how}([${named.map(([id]) => `FILL(${id},0)`).join(',')}])`,
      usingMetrics: Object.fromEntries(named),
    });
  });
};

export const SCHEDULED_FUNCTIONS = FUNCTION_NAMES.filter((name) => !MANUAL_FUNCTIONS.includes(name));

export const buildOldestMessageMetrics = ({ queues }: MonitoredResources): IMetric[] =>
  queues.domainQueues
    // Low priority may wait long without a fault.
    .filter(({ priority }) => priority !== 'low')
    .map(({ queue }) => queue.metricApproximateAgeOfOldestMessage({ period: METRIC_PERIOD, statistic: Stats.MAXIMUM }));

export const buildOldestRelayMetrics = ({ queues }: MonitoredResources): IMetric[] =>
  queues.relayQueues.map(({ queue }) =>
    queue.metricApproximateAgeOfOldestMessage({ period: METRIC_PERIOD, statistic: Stats.MAXIMUM }),
  );

export const buildOldestDeadLetterMetrics = ({ queues }: MonitoredResources): IMetric[] =>
  queues.deadLetters.map((queue) =>
    queue.metricApproximateAgeOfOldestMessage({ period: METRIC_PERIOD, statistic: Stats.MAXIMUM }),
  );

export const buildRelayDeadLetterMetrics = ({ queues }: MonitoredResources): IMetric[] =>
  queues.relayDeadLetters.map((queue) =>
    queue.metricApproximateNumberOfMessagesVisible({ period: METRIC_PERIOD, statistic: Stats.MAXIMUM }),
  );

export const buildIteratorAgeMetric = ({ functions }: MonitoredResources): IMetric =>
  functions.dispatch.lambda.metric('IteratorAge', { period: METRIC_PERIOD, statistic: Stats.MAXIMUM });

export const buildFailedRecordMetrics = ({ stream }: MonitoredResources): IMetric[] =>
  stream.flatMap(({ eventSourceMappingId }) =>
    ['OnFailureDestinationDeliveredEventCount', 'DroppedEventCount'].map(
      (metricName) =>
        new Metric({
          namespace: 'AWS/Lambda',
          metricName,
          dimensionsMap: { EventSourceMappingUUID: eventSourceMappingId },
          statistic: Stats.SUM,
          period: METRIC_PERIOD,
        }),
    ),
  );

/** 1 if messages arrived but the stream invoked nothing. */
export const buildStreamNotReadMetric = ({ functions }: MonitoredResources): IMetric => {
  const buildInvocationMetric = ({ lambda }: ParleyFunction) =>
    lambda.metricInvocations({ period: METRIC_PERIOD, statistic: Stats.SUM });
  return new MathExpression({
    label: 'messages and no dispatch',
    period: METRIC_PERIOD,
    expression: 'IF(FILL(ingest,0) > 0 AND FILL(dispatch,0) < 1, 1, 0)',
    usingMetrics: {
      ingest: buildInvocationMetric(functions.ingest),
      dispatch: buildInvocationMetric(functions.dispatch),
    },
  });
};

/** DynamoDB reports these metrics only per operation. */
const OPERATIONS = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems'];

export const buildTableFaultMetrics = ({ table }: MonitoredResources): IMetric[] =>
  ['ThrottledRequests', 'SystemErrors'].flatMap((name) =>
    OPERATIONS.map((operation) =>
      table.metric(name, {
        dimensionsMap: { TableName: table.tableName, Operation: operation },
        statistic: Stats.SUM,
        period: METRIC_PERIOD,
        label: `${name} ${operation}`,
      }),
    ),
  );
