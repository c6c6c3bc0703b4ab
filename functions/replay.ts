import type { Context, DynamoDBRecord } from 'aws-lambda';
import * as z from 'zod';
import { splitIntoChunks } from '../shared/engines/aws/backoff.ts';
import { createHandler } from './runtime/create-handler.ts';
import { dispatchStreamRecords } from './runtime/dispatch-stream-records.ts';
import { keepFailures, listFailures, readFailure } from './runtime/failure-bucket.ts';
import { logger } from './runtime/function-logger.ts';

/** A schedule calls it as well, with an event of its own. */
const ReplayRequest = z.object({ prefix: z.string().default(''), after: z.string().optional() });

/** Enough to finish what has begun. */
const TIME_MARGIN_MS = 30_000;
/** Read at once. */
const OBJECTS_AT_ONCE = 32;
/** Carried out at once. Each makes some calls, and there are 50 connections. */
const RECORDS_AT_ONCE = 100;

interface ReplayResult {
  /** Objects. */
  replayed: number;
  failed: number;
  /** Where to go on, if time was up. */
  after?: string;
}

/** Plays back what was put aside, oldest first, until nothing is left or time is up. What fails again stays, alone. */
export const handler = createHandler<unknown, ReplayResult>(async (event, context: Context) => {
  const { prefix, after } = ReplayRequest.parse(event ?? {});
  let [replayed, failed, last] = [0, 0, after];
  for (let hasMore = true; hasMore; ) {
    const page = await listFailures(prefix, last);
    for (const keys of splitIntoChunks(page.keys, OBJECTS_AT_ONCE)) {
      const objects = await readObjects(keys);
      failed += keys.length - objects.length;
      for (const some of splitIntoChunks(objects, OBJECTS_AT_ONCE, RECORDS_AT_ONCE, ({ records }) => records.length)) {
        if (context.getRemainingTimeInMillis() < TIME_MARGIN_MS) return { replayed, failed, after: last };
        const done = await replayObjects(some);
        replayed += done;
        failed += some.length - done;
      }
      last = keys.at(-1);
    }
    hasMore = page.hasMore;
  }
  return { replayed, failed };
});

interface FailureObject {
  key: string;
  records: DynamoDBRecord[];
}

const logFailure = (object: string, fields: object): void => logger.error('replay failed', { object, ...fields });

const readObjects = async (keys: string[]): Promise<FailureObject[]> => {
  const read = keys.map(async (key): Promise<FailureObject[]> => {
    try {
      return [{ key, records: await readFailure(key) }];
    } catch (error) {
      logFailure(key, { error: String(error) });
      return [];
    }
  });
  return (await Promise.all(read)).flat();
};

/** How many are done. */
const replayObjects = async (objects: FailureObject[]): Promise<number> => {
  const undone = await dispatchStreamRecords(objects.flatMap(({ records }) => records));
  const left = new Set(undone.map(({ record }) => record));
  const done = objects.map(async ({ key, records }) => {
    const kept = records.filter((record) => left.has(record));
    if (kept.length > 0) logFailure(key, { records: records.length, left: kept.length });
    try {
      if (kept.length < records.length) await keepFailures(key, kept);
      return kept.length === 0;
    } catch (error) {
      // What was carried out is carried out again, which changes nothing.
      logFailure(key, { error: String(error) });
      return false;
    }
  });
  return (await Promise.all(done)).filter(Boolean).length;
};
