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
  withMetrics: boolean;
}

/** A failing record blocks its shard. So the batch is bisected, the record tried 10 times and stored for `replay`. */
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
    retryAttempts: 10,
    // The retention of DynamoDB streams.
    maxRecordAge: Duration.days(1),
    // Filtered records cause no invocation.
    filters: [FilterCriteria.filter({ dynamodb: { Keys: { sk: { S: FilterRule.or(...CHANGE_FEED_KINDS) } } } })],
    onFailure: { bind: () => ({ destination: failures.bucketArn }) },
    supportS3OnFailureDestination: true,
    ...(withMetrics ? { metricsConfig: { metrics: [MetricType.EVENT_COUNT] } } : {}),
  });
};
