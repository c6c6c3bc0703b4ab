import { Duration } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, FilterRule, MetricType, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import {
  AWAITED_KINDS,
  CHANGE_FEED_KINDS,
  PARTLY_AWAITED_KINDS,
  UNAWAITED_KINDS,
} from '../../shared/effects/record-definitions.ts';
import { AWAITED_ATTRIBUTE } from '../../shared/engines/aws/awaited-attribute.ts';
import { getObjectsArn } from './grant-access.ts';
import type { ParleyFunction } from './parley-function.ts';

/** With the pauses that `dispatch` makes, some twelve hours. */
const MAX_ATTEMPTS = 1000;

export interface StreamMappingProps {
  table: Table;
  failures: Bucket;
  parallelism: number;
  /** Two readers: a shard has no room for a third one. */
  isSplit: boolean;
  withMetrics: boolean;
}

/**
 * What follows from a change that somebody waits for is done at once, and the rest in larger batches. A record is always in the
 * same mapping, so its changes stay in order. `dispatch` puts poison aside itself, so what fails here passes: it is tried for as
 * long as the stream keeps it in order. A batch that ends the whole function is bisected, and its one bad record ends in the bucket.
 */
export const addStreamMapping = (
  dispatch: ParleyFunction,
  { table, failures, parallelism, isSplit, withMetrics }: StreamMappingProps,
): EventSourceMapping[] => {
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
  const addMapping = (id: string, windowSeconds: number, filters: FilterPattern[]): EventSourceMapping =>
    new EventSourceMapping(dispatch, id, {
      target: dispatch.lambda,
      eventSourceArn,
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(windowSeconds),
      parallelizationFactor: parallelism,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      retryAttempts: MAX_ATTEMPTS,
      maxRecordAge: Duration.hours(20),
      // Filtered records cause no invocation.
      filters: filters.map((dynamodb) => FilterCriteria.filter({ dynamodb })),
      onFailure: { bind: () => ({ destination: failures.bucketArn }) },
      supportS3OnFailureDestination: true,
      ...(withMetrics ? { metricsConfig: { metrics: [MetricType.EVENT_COUNT] } } : {}),
    });
  if (!isSplit) return [addMapping('Stream', 0, [ofKinds(CHANGE_FEED_KINDS)])];
  return [
    addMapping('Stream', UNAWAITED_WINDOW_S, [
      ofKinds(UNAWAITED_KINDS),
      { ...ofKinds(PARTLY_AWAITED_KINDS), NewImage: { [AWAITED_ATTRIBUTE]: { N: FilterRule.notExists() } } },
    ]),
    addMapping('Awaited', 0, [
      ofKinds(AWAITED_KINDS),
      { ...ofKinds(PARTLY_AWAITED_KINDS), NewImage: { [AWAITED_ATTRIBUTE]: { N: FilterRule.exists() } } },
    ]),
  ];
};

/** In larger batches, an event costs a fraction of a write. */
const UNAWAITED_WINDOW_S = 1;

type FilterPattern = Record<string, object>;
const ofKinds = (kinds: readonly string[]): FilterPattern => ({ Keys: { sk: { S: FilterRule.or(...kinds) } } });
