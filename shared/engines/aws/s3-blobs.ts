import { hash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Blobs } from '../../ports/blobs.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { UNRETAINED_TAG } from './unretained-tag.ts';

export const createS3Blobs = (s3: () => Promise<S3Client>, bucket: string): Blobs => ({
  put: (key, content) =>
    callS3(s3, (client, { PutObjectCommand }) =>
      client.send(
        new PutObjectCommand({ Bucket: bucket, Key: toObjectKey(key), Body: content, Tagging: UNRETAINED_TAGGING }),
      ),
    ).then(() => {}),
  get: async (key) => {
    try {
      const { Body: body } = await callS3(s3, (client, { GetObjectCommand }) =>
        client.send(new GetObjectCommand({ Bucket: bucket, Key: toObjectKey(key) })),
      );
      return await body?.transformToString();
    } catch (error) {
      if (isMissingObject(error)) return undefined;
      throw error;
    }
  },
  retain: async (key) => {
    try {
      await callS3(s3, (client, { DeleteObjectTaggingCommand }) =>
        client.send(new DeleteObjectTaggingCommand({ Bucket: bucket, Key: toObjectKey(key) })),
      );
    } catch (error) {
      if (!isMissingObject(error)) throw error;
    }
  },
  delete: (key) =>
    callS3(s3, (client, { DeleteObjectCommand }) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key: toObjectKey(key) })),
    ).then(() => {}),
});

const UNRETAINED_TAGGING = `${UNRETAINED_TAG.key}=${UNRETAINED_TAG.value}`;

/** S3's error for the tags of an object under a delete marker. */
const isMissingObject = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'NoSuchKey' || error.name === 'MethodNotAllowed');

type S3Module = typeof import('./s3-client.lazy.ts');

const callS3 = async <T>(
  s3: () => Promise<S3Client>,
  act: (client: S3Client, commands: S3Module) => Promise<T>,
): Promise<T> => {
  const [client, commands] = await Promise.all([s3(), import('./s3-client.lazy.ts')]);
  return mapAwsErrors(act(client, commands));
};

/** S3 keys have at most 1,024 bytes and special characters; ids may contain anything. */
const toObjectKey = (key: string): string =>
  /^[\w-]+(\/[\w-]+)*$/.test(key) && key.length < 900 ? key : `named/${hash('sha256', key, 'base64url')}`;
