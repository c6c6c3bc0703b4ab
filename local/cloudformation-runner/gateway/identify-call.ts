import type { ResourceContext } from '../resource-type.ts';
import { unknownResourceIssue } from '../template-error.ts';
import { type AwsCall, type AwsCaller, type AwsRequest, type AwsService, SERVICES } from './aws-call.ts';
import { listDynamoPermissions } from './dynamodb-calls.ts';
import { identifyS3Call, listEventsPermissions, listSqsPermissions } from './other-calls.ts';

export class UnmappedOperationError extends Error {}

/** The signature is not verified; the access key identifies the caller. */
export const parseSigner = (authorization: string): { accessKey: string; service: AwsService | undefined } => {
  const [, accessKey = '', named] = /Credential=([^/]+)\/\d+\/[^/]+\/([^/]+)\/aws4_request/.exec(authorization) ?? [];
  return { accessKey, service: SERVICES.find((service) => service === named) };
};

export const identifyCall = (
  service: AwsService,
  request: AwsRequest,
  body: unknown,
  caller: AwsCaller,
  site: ResourceContext,
): AwsCall => {
  const target = request.headers['x-amz-target'] ?? '';
  const named = target.slice(target.indexOf('.') + 1);
  const s3 = service === 's3' ? identifyS3Call(request) : undefined;
  const operation = s3?.operation ?? named;
  const needs = s3 ? s3.needs : NEEDS[service]?.(operation, body, site);
  if (!needs) throw new UnmappedOperationError(unknownResourceIssue(`the operation ${service}:${operation}`));
  return { service, operation, needs, resource: parseResourceName(needs[0]?.resource ?? ''), caller: caller.name };
};

const NEEDS: Partial<Record<AwsService, typeof listDynamoPermissions>> = {
  dynamodb: listDynamoPermissions,
  sqs: listSqsPermissions,
  events: listEventsPermissions,
};

const parseResourceName = (arn: string): string => {
  const own = arn.split(':').slice(5).join(':');
  if (arn.startsWith('arn:aws:s3')) return own.split('/')[0] ?? '';
  return own.replace(/^(table|event-bus)\//, '');
};

export const parseBody = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
};
