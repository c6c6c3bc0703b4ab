import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { dispatchRecords } from './dispatch-records.ts';
import { inLambda } from './in-lambda.ts';
import { logged } from './logged.ts';

/** Carries out what follows from the table's changes. */
export const handler = inLambda<DynamoDBStreamEvent, DynamoDBBatchResponse>()
  .use(logged(() => ({})))
  .handler(async ({ Records: records }) => ({ batchItemFailures: await dispatchRecords(records) }));
