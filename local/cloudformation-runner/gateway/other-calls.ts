import { z } from 'zod';
import type { ResourceContext } from '../resource-type.ts';
import type { AwsRequest, Need } from './aws-call.ts';

const OfQueue = z.object({ QueueUrl: z.string() });

/** IAM checks a batch call under the action of the single call. */
const QUEUE_ACTIONS: Record<string, string> = {
  SendMessage: 'SendMessage',
  SendMessageBatch: 'SendMessage',
  ReceiveMessage: 'ReceiveMessage',
  DeleteMessage: 'DeleteMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibility: 'ChangeMessageVisibility',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
  GetQueueAttributes: 'GetQueueAttributes',
};

const parseQueueName = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

export const listSqsPermissions = (
  operation: string,
  body: unknown,
  { region, account }: ResourceContext,
): Need[] | undefined => {
  const action = QUEUE_ACTIONS[operation];
  if (action === undefined) return undefined;
  const name = parseQueueName(OfQueue.parse(body).QueueUrl);
  return [{ action: `sqs:${action}`, resource: `arn:aws:sqs:${region}:${account}:${name}` }];
};

const Entries = z.object({ Entries: z.array(z.object({ EventBusName: z.string().default('default') })) });

export const buildBusArn = (bus: string, { region, account }: ResourceContext): string =>
  bus.startsWith('arn:') ? bus : `arn:aws:events:${region}:${account}:event-bus/${bus}`;

export const listEventsPermissions = (operation: string, body: unknown, site: ResourceContext): Need[] | undefined => {
  if (operation !== 'PutEvents') return undefined;
  const buses = new Set(Entries.parse(body).Entries.map(({ EventBusName }) => buildBusArn(EventBusName, site)));
  return [...buses].map((resource) => ({ action: 'events:PutEvents', resource }));
};

const OBJECT_OPERATIONS: Record<string, string> = {
  GET: 'GetObject',
  HEAD: 'HeadObject',
  PUT: 'PutObject',
  DELETE: 'DeleteObject',
};
const HARMLESS_QUERY = ['x-id', 'versionId', 'partNumber'];

/** The SDK uses path-style addresses for an endpoint that is an IP address. */
export const identifyS3Call = (request: AwsRequest): { operation: string; needs: Need[] | undefined } => {
  const { pathname, searchParams } = new URL(request.path, 'http://s3');
  const [, bucket = '', key = ''] = /^\/([^/]+)\/?(.*)$/.exec(pathname) ?? [];
  const bucketArn = `arn:aws:s3:::${bucket}`;
  const asked = [...searchParams.keys()];
  if (key === '') {
    if (request.method === 'GET' && (searchParams.has('list-type') || asked.every((name) => LISTING.includes(name)))) {
      return { operation: 'ListObjectsV2', needs: [{ action: 's3:ListBucket', resource: bucketArn }] };
    }
    if (request.method === 'HEAD') {
      return { operation: 'HeadBucket', needs: [{ action: 's3:ListBucket', resource: bucketArn }] };
    }
    if (request.method === 'POST' && searchParams.has('delete')) {
      const keys = [...request.body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name = '']) =>
        unescapeKey(name),
      );
      const needs = keys.map((name) => ({ action: 's3:DeleteObject', resource: `${bucketArn}/${name}` }));
      return { operation: 'DeleteObjects', needs };
    }
    return { operation: `${request.method} of a bucket with ${asked.join(', ') || 'nothing'}`, needs: undefined };
  }
  const objectArn = `${bucketArn}/${decodeURIComponent(key)}`;
  if (request.method === 'DELETE' && searchParams.has('tagging')) {
    return { operation: 'DeleteObjectTagging', needs: [{ action: 's3:DeleteObjectTagging', resource: objectArn }] };
  }
  const operation = OBJECT_OPERATIONS[request.method];
  const isPlain = asked.every((name) => HARMLESS_QUERY.includes(name)) && !('x-amz-copy-source' in request.headers);
  if (!operation || !isPlain) {
    return { operation: searchParams.get('x-id') ?? `${request.method} ${asked.join(', ')}`, needs: undefined };
  }
  const action = operation === 'HeadObject' ? 's3:GetObject' : `s3:${operation}`;
  const tagging = 'x-amz-tagging' in request.headers ? [{ action: 's3:PutObjectTagging', resource: objectArn }] : [];
  return { operation, needs: [{ action, resource: objectArn }, ...tagging] };
};

const LISTING = ['list-type', 'prefix', 'delimiter', 'max-keys', 'continuation-token', 'start-after', 'x-id'];

const unescapeKey = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
