import { setTimeout as pause } from 'node:timers/promises';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import { parseBatchResult } from './batch-failures.ts';
import type { FailedBatch } from './failure-record.ts';
import { type MappingProperties, reportsFailures } from './mapping.ts';
import type { TableStreamRecord } from './stream-records.ts';

interface BatchDelivery {
  properties: Pick<
    MappingProperties,
    'BisectBatchOnFunctionError' | 'FunctionResponseTypes' | 'MaximumRetryAttempts' | 'MaximumRecordAgeInSeconds'
  >;
  target: Pick<LambdaFunction, 'invoke'>;
  signal: AbortSignal;
  storeFailure(batch: Omit<FailedBatch, 'shardId'>): Promise<void>;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

/**
 * Retries from the first failed record. A bisect spends no retry, so a poison record ends up alone. Throws if stopped
 * earlier.
 */
export const deliverBatch = async (delivery: BatchDelivery, batch: readonly TableStreamRecord[]): Promise<void> => {
  const { properties, target, signal, storeFailure } = delivery;
  let records = await dropTooOld(delivery, batch);
  for (let attempts = 0, waits = 0; records.length > 0; ) {
    signal.throwIfAborted();
    const sequence = records.map(({ dynamodb }) => dynamodb.SequenceNumber);
    const answer = await target.invoke({ Records: records });
    const result = parseBatchResult(answer, reportsFailures(properties), sequence);
    if (result === 'throttled') waits += 1;
    else {
      const failedAt = result === 'all failed' ? 0 : sequence.findIndex((number) => result.has(number));
      if (failedAt < 0) return;
      const remaining = records.slice(failedAt);
      if (properties.BisectBatchOnFunctionError && failedAt === 0 && remaining.length > 1) {
        const middle = Math.ceil(remaining.length / 2);
        await deliverBatch(delivery, remaining.slice(0, middle));
        await deliverBatch(delivery, remaining.slice(middle));
        return;
      }
      // Another first failed record starts a new count.
      attempts = failedAt === 0 ? attempts + 1 : 1;
      waits = attempts;
      records = remaining;
      const { MaximumRetryAttempts: retries } = properties;
      if (retries >= 0 && attempts > retries) {
        await storeFailure({ condition: 'RetryAttemptsExhausted', attempts, hasThrown: answer.ok !== true, records });
        return;
      }
    }
    await pause(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (waits - 1)), undefined, { signal });
    records = await dropTooOld(delivery, records);
  }
};

const dropTooOld = async (
  { properties, storeFailure }: BatchDelivery,
  records: readonly TableStreamRecord[],
): Promise<readonly TableStreamRecord[]> => {
  const oldestSeconds = properties.MaximumRecordAgeInSeconds;
  if (oldestSeconds < 0) return records;
  const since = Date.now() / 1000 - oldestSeconds;
  // DynamoDB Local has minute precision: a record may stay a minute too long.
  const isTooOld = ({ dynamodb }: TableStreamRecord): boolean => dynamodb.ApproximateCreationDateTime + 60 < since;
  const tooOld = records.filter(isTooOld);
  if (tooOld.length > 0)
    await storeFailure({ condition: 'RecordAgeExceeded', attempts: 0, hasThrown: false, records: tooOld });
  return records.filter((record) => !isTooOld(record));
};
