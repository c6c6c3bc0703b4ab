import { randomUUID } from 'node:crypto';
import type { DynamoDBRecord } from 'aws-lambda';
import * as z from 'zod';
import { createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { StreamEnv } from './env.ts';

const { FAILURE_BUCKET_NAME: Bucket } = StreamEnv.parse(process.env);

/** As large as all other clients together, and there is seldom something to put aside. */
const loadS3 = () => import('../../shared/engines/aws/s3-client.lazy.ts');
const { s3: getClient } = createAwsClients();

const StreamBatch = z.object({ Records: z.array(z.custom<DynamoDBRecord>((value) => typeof value === 'object')) });

/** What Lambda leaves of a batch that it gave up: the records are inside, as text. LocalStack leaves them as they are. */
const FailureObject = z.object({
  payload: z.preprocess((value) => (typeof value === 'string' ? JSON.parse(value) : value), StreamBatch),
});

/** As Lambda does it with what it gives up. */
const putObject = async (Key: string, records: readonly DynamoDBRecord[]): Promise<void> => {
  const Body = JSON.stringify({ version: '1.0', payload: JSON.stringify({ Records: records }) });
  const { PutObjectCommand } = await loadS3();
  await (await getClient()).send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'application/json' }));
};

/** By their time, so that they are played back in their order. */
export const storePoison = (records: readonly DynamoDBRecord[], now: Date): Promise<void> => {
  const [day = '', time = ''] = now.toISOString().split('T');
  return putObject(`dispatch/${day.replaceAll('-', '/')}/${time}-${randomUUID()}`, records);
};

export const listFailures = async (
  prefix: string,
  after: string | undefined,
): Promise<{ keys: string[]; hasMore: boolean }> => {
  const { ListObjectsV2Command } = await loadS3();
  const { Contents: objects = [], IsTruncated: hasMore = false } = await (await getClient()).send(
    new ListObjectsV2Command({ Bucket, Prefix: prefix, StartAfter: after }),
  );
  return { keys: objects.map(({ Key = '' }) => Key), hasMore };
};

export const readFailure = async (Key: string): Promise<DynamoDBRecord[]> => {
  const { GetObjectCommand } = await loadS3();
  const { Body: body } = await (await getClient()).send(new GetObjectCommand({ Bucket, Key }));
  return FailureObject.parse(JSON.parse((await body?.transformToString()) ?? '{}')).payload.Records;
};

/** Those that are left; the object goes with the last. */
export const keepFailures = async (Key: string, left: readonly DynamoDBRecord[]): Promise<void> => {
  if (left.length > 0) return putObject(Key, left);
  const { DeleteObjectCommand } = await loadS3();
  await (await getClient()).send(new DeleteObjectCommand({ Bucket, Key }));
};
