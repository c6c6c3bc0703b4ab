import { hash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Blobs } from '../../ports/blobs.ts';
import { answerOf } from './failures.ts';
import { UNOWNED } from './unowned.ts';

export const blobsOn = (s3: () => Promise<S3Client>, bucket: string): Blobs => ({
  put: (key, content) =>
    onS3(s3, (client, { PutObjectCommand }) =>
      client.send(new PutObjectCommand({ Bucket: bucket, Key: objectKey(key), Body: content, Tagging: TAGGED })),
    ).then(() => {}),
  get: async (key) => {
    try {
      const { Body: body } = await onS3(s3, (client, { GetObjectCommand }) =>
        client.send(new GetObjectCommand({ Bucket: bucket, Key: objectKey(key) })),
      );
      return await body?.transformToString();
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  },
  own: async (key) => {
    try {
      await onS3(s3, (client, { DeleteObjectTaggingCommand }) =>
        client.send(new DeleteObjectTaggingCommand({ Bucket: bucket, Key: objectKey(key) })),
      );
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  },
  delete: (key) =>
    onS3(s3, (client, { DeleteObjectCommand }) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key: objectKey(key) })),
    ).then(() => {}),
});

const TAGGED = `${UNOWNED.key}=${UNOWNED.value}`;

/** The second is what S3 says of the tags of an object in whose place it keeps the mark of its deletion. */
const isGone = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'MethodNotAllowed');

type S3 = typeof import('./s3-client.ts');

const onS3 = async <T>(
  s3: () => Promise<S3Client>,
  act: (client: S3Client, commands: S3) => Promise<T>,
): Promise<T> => {
  const [client, commands] = await Promise.all([s3(), import('./s3-client.ts')]);
  return answerOf(act(client, commands));
};

/** A key has 1,024 bytes, and some characters mean something on the way; an id may have any. */
const objectKey = (key: string): string =>
  /^[\w-]+(\/[\w-]+)*$/.test(key) && key.length < 900 ? key : `named/${hash('sha256', key, 'base64url')}`;
