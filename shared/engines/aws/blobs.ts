import { hash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Blobs } from '../../ports/blobs.ts';
import { answerOf } from './failures.ts';

export const blobsOn = (s3: () => Promise<S3Client>, bucket: string): Blobs => ({
  put: (key, content) =>
    onS3(s3, (client, { PutObjectCommand }) =>
      client.send(new PutObjectCommand({ Bucket: bucket, Key: objectKey(key), Body: content })),
    ).then(() => {}),
  get: async (key) => {
    try {
      const { Body: body } = await onS3(s3, (client, { GetObjectCommand }) =>
        client.send(new GetObjectCommand({ Bucket: bucket, Key: objectKey(key) })),
      );
      return await body?.transformToString();
    } catch (error) {
      if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
      throw error;
    }
  },
  delete: (key) =>
    onS3(s3, (client, { DeleteObjectCommand }) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key: objectKey(key) })),
    ).then(() => {}),
});

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
