import { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, FilterRule, MetricType, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { CHANGE_FEED_KINDS } from '../../shared/effects/record-definitions.ts';
import { getObjectsArn } from './grant-access.ts';
import type { ParleyFunction } from './parley-function.ts';

/** With the pauses that `dispatch` makes, some twelve hours. */
const MAX_ATTEMPTS = 1000;

export interface StreamMappingProps {
  table: Table;
  failures: Bucket;
  parallelism: number;
  withMetrics: boolean;
}

/**
 * `dispatch` puts poison aside itself, so what fails here passes: it is tried for as long as the stream keeps it in order. A batch that
 * ends the whole function is bisected, and its one bad record ends in the bucket.
 */
export const addStreamMapping = (
  dispatch: ParleyFunction,
  { table, failures, parallelism, withMetrics }: StreamMappingProps,
): EventSourceMapping => {
  const eventSourceArn = table.tableStreamArn;
  if (eventSourceArn === undefined) throw new Error('the table has no stream');
  dispatch.role.addToPolicy(
    new PolicyStatement({
      actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:ListStreams'],
      resources: [eventSourceArn],
    }),
  );
  dispatch.role.addToPolicy(new PolicyStatement({ actions: ['s3:ListBucket'], resources: [failures.bucketArn] }));
  dispatch.role.addToPolicy(
    new PolicyStatement({ actions: ['s3:PutObject'], resources: [getObjectsArn(failures, dispatch.role)] }),
  );
  return new EventSourceMapping(dispatch, 'Stream', {
    target: dispatch.lambda,
    eventSourceArn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    batchSize: 100,
    // No agent waits for this path. In larger batches, an event costs a fraction of a write.
    maxBatchingWindow: Duration.seconds(1),
    parallelizationFactor: parallelism,
    reportBatchItemFailures: true,
    bisectBatchOnError: true,
    retryAttempts: MAX_ATTEMPTS,
    maxRecordAge: Duration.hours(20),
    // Filtered records cause no invocation.
    filters: [FilterCriteria.filter({ dynamodb: { Keys: { sk: { S: FilterRule.or(...CHANGE_FEED_KINDS) } } } })],
    onFailure: { bind: () => ({ destination: failures.bucketArn }) },
    supportS3OnFailureDestination: true,
    ...(withMetrics ? { metricsConfig: { metrics: [MetricType.EVENT_COUNT] } } : {}),
  });
};
