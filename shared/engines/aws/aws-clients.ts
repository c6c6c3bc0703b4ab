import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';

/** The services that the engine stands on. One set lives as long as its function's instance, so that connections are kept. */
export interface AwsClients {
  dynamo: DynamoDBClient;
  sqs: SQSClient;
  /** Loaded when it is first needed. */
  s3: () => Promise<S3Client>;
}

export interface ClientOptions {
  endpoint?: string;
  region?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

/**
 * A call is answered within milliseconds, a receive within the second that it waits: who says nothing for longer is gone, as a
 * connection often is that was kept while its function slept. Four attempts end well before a function's 29 s.
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
        // Where a server stands in for S3, buckets have no host names of their own.
        ({ S3Client }) => new S3Client({ ...common, forcePathStyle: isLocalEndpoint(options) }),
      );
      return s3;
    },
  };
};

const isLocalEndpoint = ({ endpoint }: ClientOptions): boolean =>
  (endpoint ?? process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL) !== undefined;
