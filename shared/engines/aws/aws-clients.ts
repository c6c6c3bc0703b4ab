import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';

export interface AwsClients {
  dynamo: DynamoDBClient;
  sqs: SQSClient;
  s3: () => Promise<S3Client>;
}

export interface ClientOptions {
  endpoint?: string;
  region?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

/**
 * A connection kept while its Lambda was frozen is often dead, so timeouts are short. Four attempts end well before the
 * function's 29 s.
 */
export const CLIENT_DEFAULTS = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 3000, requestTimeout: 3000, throwOnRequestTimeout: true },
};

export const createAwsClients = (options: ClientOptions = {}): AwsClients => {
  const common = { ...CLIENT_DEFAULTS, ...options };
  let s3: Promise<S3Client> | undefined;
  return {
    dynamo: new DynamoDBClient(common),
    sqs: new SQSClient({ ...common, useQueueUrlAsEndpoint: false }),
    s3: () => {
      s3 ??= import('./s3-client.lazy.ts').then(
        // Local S3 servers have no host names for buckets.
        ({ S3Client }) => new S3Client({ ...common, forcePathStyle: isLocalEndpoint(options) }),
      );
      return s3;
    },
  };
};

const isLocalEndpoint = ({ endpoint }: ClientOptions): boolean =>
  (endpoint ?? process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL) !== undefined;
