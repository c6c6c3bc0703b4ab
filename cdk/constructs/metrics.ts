import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { BY_HAND, FUNCTION_NAMES, type FunctionName } from '../functions.ts';
import type { DelayQueue } from './delay-queue.ts';
import type { Lanes } from './lanes.ts';
import type { ParleyFunction } from './parley-function.ts';
import { PERIOD } from './period.ts';

/** What alarms and dashboard look at. */
export interface Watched {
  functions: Record<FunctionName, ParleyFunction>;
  table: Table;
  lanes: Lanes;
  delay: DelayQueue;
  /** There is none while the deployment is paused. */
  stream?: EventSourceMapping;
  api: HttpApi;
}

/** CloudWatch takes ten metrics into one expression of an alarm. */
const METRICS_AN_EXPRESSION = 10;

/** As few expressions as hold all metrics. What says nothing counts as 0. */
export const together = (how: 'MAX' | 'SUM', label: string, metrics: IMetric[]): MathExpression[] => {
  const chunks = Array.from({ length: Math.ceil(metrics.length / METRICS_AN_EXPRESSION) }, (_, at) =>
    metrics.slice(at * METRICS_AN_EXPRESSION, (at + 1) * METRICS_AN_EXPRESSION),
  );
  return chunks.map((chunk) => {
    const named = chunk.map((metric, at): [string, IMetric] => [`m${at}`, metric]);
    return new MathExpression({
      label,
      period: PERIOD,
      expression: `${how}([${named.map(([id]) => `FILL(${id},0)`).join(',')}])`,
      usingMetrics: Object.fromEntries(named),
    });
  });
};

export const automatic = FUNCTION_NAMES.filter((name) => !BY_HAND.includes(name));

export const oldestInLanes = ({ lanes }: Watched): IMetric[] =>
  lanes.lanes
    // Low priority waits for an agent that has nothing else to do.
    .filter(({ priority }) => priority !== 'low')
    .map(({ queue }) => queue.metricApproximateAgeOfOldestMessage({ period: PERIOD, statistic: Stats.MAXIMUM }));

export const oldestForRelays = ({ lanes }: Watched): IMetric[] =>
  lanes.relay.map(({ queue }) =>
    queue.metricApproximateAgeOfOldestMessage({ period: PERIOD, statistic: Stats.MAXIMUM }),
  );

export const oldestDeadLetters = ({ lanes }: Watched): IMetric[] =>
  lanes.deadLetters.map((queue) =>
    queue.metricApproximateAgeOfOldestMessage({ period: PERIOD, statistic: Stats.MAXIMUM }),
  );

export const relayDeadLetters = ({ lanes }: Watched): IMetric[] =>
  lanes.relayDeadLetters.map((queue) =>
    queue.metricApproximateNumberOfMessagesVisible({ period: PERIOD, statistic: Stats.MAXIMUM }),
  );

export const iteratorAge = ({ functions }: Watched): IMetric =>
  functions.dispatch.lambda.metric('IteratorAge', { period: PERIOD, statistic: Stats.MAXIMUM });

/** Of the stream's records: those that went to the failure bucket, and those that were lost. */
export const givenUp = ({ stream }: Watched): IMetric[] =>
  stream === undefined
    ? []
    : ['OnFailureDestinationDeliveredEventCount', 'DroppedEventCount'].map(
        (metricName) =>
          new Metric({
            namespace: 'AWS/Lambda',
            metricName,
            dimensionsMap: { EventSourceMappingUUID: stream.eventSourceMappingId },
            statistic: Stats.SUM,
            period: PERIOD,
          }),
      );

/** 1 where messages came in and the stream brought none of what followed from them. */
export const streamNotRead = ({ functions }: Watched): IMetric => {
  const invocations = ({ lambda }: ParleyFunction) =>
    lambda.metricInvocations({ period: PERIOD, statistic: Stats.SUM });
  return new MathExpression({
    label: 'messages and no dispatch',
    period: PERIOD,
    expression: 'IF(FILL(ingest,0) > 0 AND FILL(dispatch,0) < 1, 1, 0)',
    usingMetrics: { ingest: invocations(functions.ingest), dispatch: invocations(functions.dispatch) },
  });
};

/** DynamoDB counts these by operation only. */
const OPERATIONS = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems'];

/** Calls that the table refused as too many, and those that failed inside DynamoDB. */
export const tableFaults = ({ table }: Watched): IMetric[] =>
  ['ThrottledRequests', 'SystemErrors'].flatMap((name) =>
    OPERATIONS.map((operation) =>
      table.metric(name, {
        dimensionsMap: { TableName: table.tableName, Operation: operation },
        statistic: Stats.SUM,
        period: PERIOD,
        label: `${name} ${operation}`,
      }),
    ),
  );
