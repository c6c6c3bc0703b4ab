import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { createHandler } from './runtime/create-handler.ts';
import { dispatchStreamRecords } from './runtime/dispatch-stream-records.ts';
import { createLoggingMiddleware } from './runtime/logging-middleware.ts';

/** Carries out what follows from the table's changes. */
export const handler = createHandler<DynamoDBStreamEvent, DynamoDBBatchResponse>()
  .use(createLoggingMiddleware(() => ({})))
  .handler(async ({ Records: records }) => ({ batchItemFailures: await dispatchStreamRecords(records) }));
