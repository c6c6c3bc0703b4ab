import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { Context, DynamoDBRecord } from 'aws-lambda';
import * as z from 'zod';
import { CLIENT_DEFAULTS } from '../shared/engines/aws/aws-clients.ts';
import { createHandler } from './runtime/create-handler.ts';
import { dispatchStreamRecords } from './runtime/dispatch-stream-records.ts';
import { ReplayEnv } from './runtime/env.ts';
import { logger } from './runtime/function-logger.ts';

const { FAILURE_BUCKET_NAME: bucket } = ReplayEnv.parse(process.env);
const s3 = new S3Client({ ...CLIENT_DEFAULTS, forcePathStyle: process.env.AWS_ENDPOINT_URL !== undefined });

/** A schedule calls it as well, with an event of its own. */
const ReplayRequest = z.object({ prefix: z.string().default(''), after: z.string().optional() });

const StreamBatch = z.object({ Records: z.array(z.custom<DynamoDBRecord>((value) => typeof value === 'object')) });

/** What Lambda leaves of a batch that it gave up: the records are inside, as text. LocalStack leaves them as they are. */
const FailureObject = z.object({
  payload: z.preprocess((value) => (typeof value === 'string' ? JSON.parse(value) : value), StreamBatch),
});

/** Enough to finish one batch. */
const TIME_MARGIN_MS = 30_000;

interface ReplayResult {
  replayed: number;
  failed: number;
  /** Where to go on, if there is more. */
  after?: string;
}

/** Plays back what the stream gave up, oldest first, and removes what worked. What fails again stays. */
export const handler = createHandler<unknown, ReplayResult>(async (event, context: Context) => {
  const { prefix, after } = ReplayRequest.parse(event ?? {});
  const { Contents: objects = [], IsTruncated: isTruncated } = await s3.send(
    new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, StartAfter: after }),
  );
  let [replayed, failed, last] = [0, 0, after];
  for (const { Key: key = '' } of objects) {
    if (context.getRemainingTimeInMillis() < TIME_MARGIN_MS) return { replayed, failed, after: last };
    if (await replayObject(key)) replayed += 1;
    else failed += 1;
    last = key;
  }
  return { replayed, failed, after: isTruncated ? last : undefined };
});

const replayObject = async (key: string): Promise<boolean> => {
  try {
    const { Body: body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    const { payload } = FailureObject.parse(JSON.parse((await body?.transformToString()) ?? '{}'));
    const failures = await dispatchStreamRecords(payload.Records);
    if (failures.length > 0) throw new Error(`the record ${failures[0]?.itemIdentifier} failed again`);
    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    return true;
  } catch (error) {
    logger.error('replay failed', { object: key, error: String(error) });
    return false;
  }
};
