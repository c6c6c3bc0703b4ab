import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import middy from '@middy/core';
import type { Context, DynamoDBRecord } from 'aws-lambda';
import * as z from 'zod';
import { dispatchRecords } from './dispatch-records.ts';
import { ReplayEnv } from './env.ts';
import { logged } from './logged.ts';
import { logger } from './parley.ts';

const { FAILURE_BUCKET_NAME: bucket } = ReplayEnv.parse(process.env);
const s3 = new S3Client({ forcePathStyle: process.env.AWS_ENDPOINT_URL !== undefined });

const Wanted = z.strictObject({ prefix: z.string().default('') });

/** What Lambda leaves of a batch that it gave up: the records are inside, as text. */
const Failure = z.object({ payload: z.string().transform((text) => Batch.parse(JSON.parse(text))) });
const Batch = z.object({ Records: z.array(z.custom<DynamoDBRecord>((value) => typeof value === 'object')) });

/** Enough to finish one batch. */
const MARGIN_MS = 30_000;

/** Plays back what the stream gave up, oldest first, and removes what worked. Says what remains. */
export const handler = middy<unknown, { played: number; failed: number; more: boolean }>()
  .use(logged(() => ({})))
  .handler(async (event, context: Context) => {
    const { prefix } = Wanted.parse(event ?? {});
    const { Contents: objects = [], IsTruncated: isTruncated = false } = await s3.send(
      new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }),
    );
    let [played, failed] = [0, 0];
    for (const { Key: key = '' } of objects) {
      if (context.getRemainingTimeInMillis() < MARGIN_MS) return { played, failed, more: true };
      if (await playBack(key)) played += 1;
      else failed += 1;
    }
    return { played, failed, more: isTruncated };
  });

const playBack = async (key: string): Promise<boolean> => {
  const { Body: body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  const { payload } = Failure.parse(JSON.parse((await body?.transformToString()) ?? '{}'));
  const failures = await dispatchRecords(payload.Records);
  if (failures.length > 0) {
    logger.error('a batch failed again', { object: key });
    return false;
  }
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
  return true;
};
