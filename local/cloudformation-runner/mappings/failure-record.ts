import { randomUUID } from 'node:crypto';
import type { TableStreamRecord } from './stream-records.ts';

export interface FailedBatch {
  condition: 'RetryAttemptsExhausted' | 'RecordAgeExceeded';
  attempts: number;
  /** Else it answered which records failed. */
  hasThrown: boolean;
  shardId: string;
  records: readonly TableStreamRecord[];
}

interface FailureSource {
  mappingId: string;
  functionArn: string;
  streamArn: string;
}

/** Lambda's format: `payload` has the whole event as text. */
export const buildFailureObject = (
  source: FailureSource,
  givenUp: FailedBatch,
  now: Date,
): { key: string; body: string } => {
  const { condition, attempts, hasThrown, shardId, records } = givenUp;
  const iso = now.toISOString();
  const [day = ''] = iso.split('T');
  const time = iso.slice(0, 19).replaceAll(':', '.');
  const formatTimePath = (record: TableStreamRecord | undefined): string =>
    new Date((record?.dynamodb.ApproximateCreationDateTime ?? 0) * 1000).toISOString();
  return {
    key: `aws/lambda/${source.mappingId}/${shardId}/${day.replaceAll('-', '/')}/${time}-${randomUUID()}`,
    body: JSON.stringify({
      requestContext: {
        requestId: randomUUID(),
        functionArn: source.functionArn,
        condition,
        approximateInvokeCount: attempts,
      },
      responseContext: { statusCode: 200, executedVersion: '$LATEST', functionError: hasThrown ? 'Unhandled' : null },
      version: '1.0',
      timestamp: iso,
      DDBStreamBatchInfo: {
        shardId,
        startSequenceNumber: records[0]?.dynamodb.SequenceNumber,
        endSequenceNumber: records.at(-1)?.dynamodb.SequenceNumber,
        approximateArrivalOfFirstRecord: formatTimePath(records[0]),
        approximateArrivalOfLastRecord: formatTimePath(records.at(-1)),
        batchSize: records.length,
        streamArn: source.streamArn,
      },
      payload: JSON.stringify({ Records: records }),
    }),
  };
};
