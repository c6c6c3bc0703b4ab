import { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, FilterRule, MetricType, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { CHANGE_FEED_KINDS } from '../../shared/effects/record-definitions.ts';
import { getObjectsArn } from './grant-access.ts';
import type { ParleyFunction } from './parley-function.ts';

export interface StreamMappingProps {
  table: Table;
  failures: Bucket;
  parallelism: number;
  /** Counts of what was given up, for the alarm. */
  withMetrics: boolean;
}

/**
 * The stream to `dispatch`. A record that fails again and again blocks its shard, so that it is singled out by halving, tried
 * 10 times, and then kept whole in a bucket, from where `replay` plays it back.
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
    // What agents wait for does not go this way; packed together, events cost a fraction of a write each.
    maxBatchingWindow: Duration.seconds(1),
    parallelizationFactor: parallelism,
    reportBatchItemFailures: true,
    bisectBatchOnError: true,
    retryAttempts: 10,
    // The stream itself keeps a record for a day.
    maxRecordAge: Duration.days(1),
    // The rest of the stream is not paid for.
    filters: [FilterCriteria.filter({ dynamodb: { Keys: { sk: { S: FilterRule.or(...CHANGE_FEED_KINDS) } } } })],
    onFailure: { bind: () => ({ destination: failures.bucketArn }) },
    supportS3OnFailureDestination: true,
    ...(withMetrics ? { metricsConfig: { metrics: [MetricType.EVENT_COUNT] } } : {}),
  });
};
