import { setTimeout as pause } from 'node:timers/promises';
import type { Context, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { systemClock } from '../shared/ports/clock.ts';
import { createHandler } from './runtime/create-handler.ts';
import { dispatchStreamRecords, type UndoneRecord } from './runtime/dispatch-stream-records.ts';
import { storePoison } from './runtime/failure-bucket.ts';
import { logger } from './runtime/function-logger.ts';
import { publishCounts } from './runtime/metrics.lazy.ts';

/** Where all of a batch is refused, the cause may lie in what was deployed: so long it comes again in its order. */
const POISON_AFTER_MS = 5 * 60_000;

const PAUSE_AFTER_MS = 60_000;
const MAX_PAUSE_MS = 40_000;
const TIME_MARGIN_MS = 10_000;

/** Carries out what follows from the table's changes. */
export const handler = createHandler<DynamoDBStreamEvent, DynamoDBBatchResponse>(
  async ({ Records: records }, context) => {
    const undone = await dispatchStreamRecords(records);
    const from = undone.findIndex((one) => !isPutAside(one, undone.length < records.length));
    const aside = (from < 0 ? undone : undone.slice(0, from)).map(({ record }) => record);
    const first = undone[from]?.record;
    if (aside.length > 0 && !(await putAside(aside))) return respondFrom(undone[0]?.record);
    if (first) await pause(computePause(first, context));
    return respondFrom(first);
  },
);

/** An outage of hours must not use up the attempts. */
const computePause = (record: DynamoDBRecord, context: Context): number => {
  const wanted = Math.min(MAX_PAUSE_MS, (computeAge(record) - PAUSE_AFTER_MS) / 10);
  return Math.max(0, Math.min(wanted, context.getRemainingTimeInMillis() - TIME_MARGIN_MS));
};

const computeAge = ({ dynamodb }: DynamoDBRecord): number =>
  systemClock.now() - (dynamodb?.ApproximateCreationDateTime ?? 0) * 1000;

/** Lambda sends again from the first failure on. */
const respondFrom = (record: DynamoDBRecord | undefined): DynamoDBBatchResponse => ({
  batchItemFailures: record ? [{ itemIdentifier: record.dynamodb?.SequenceNumber ?? '' }] : [],
});

const isPutAside = ({ record, isPoison }: UndoneRecord, othersWork: boolean): boolean =>
  isPoison && (othersWork || computeAge(record) > POISON_AFTER_MS);

/** So that it holds up nothing behind it. */
const putAside = async (records: DynamoDBRecord[]): Promise<boolean> => {
  try {
    await storePoison(records, new Date(systemClock.now()));
    publishCounts({ ChangesPutAside: records.length });
    return true;
  } catch (error) {
    logger.error('changes not put aside', { records: records.length, error: String(error) });
    return false;
  }
};
