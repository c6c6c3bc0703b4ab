import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { createHandler } from './runtime/create-handler.ts';
import { dispatchStreamRecords } from './runtime/dispatch-stream-records.ts';

/** Carries out what follows from the table's changes. */
export const handler = createHandler<DynamoDBStreamEvent, DynamoDBBatchResponse>(async ({ Records: records }) => ({
  batchItemFailures: await dispatchStreamRecords(records),
}));
