import type { Site } from '../kind.ts';
import { notKnown } from '../template-error.ts';
import { type AwsCall, type AwsRequest, type Caller, SERVICES, type Service } from './aws-call.ts';
import { dynamodbNeeds } from './dynamodb-calls.ts';
import { eventsNeeds, s3CallOf, sqsNeeds } from './other-calls.ts';

export class UnmappedOperation extends Error {}

/** The signature itself is not checked: the access key alone says who calls. */
export const signerOf = (authorization: string): { accessKey: string; service: Service | undefined } => {
  const [, accessKey = '', named] = /Credential=([^/]+)\/\d+\/[^/]+\/([^/]+)\/aws4_request/.exec(authorization) ?? [];
  return { accessKey, service: SERVICES.find((service) => service === named) };
};

export const callOf = (service: Service, request: AwsRequest, body: unknown, caller: Caller, site: Site): AwsCall => {
  const target = request.headers['x-amz-target'] ?? '';
  const named = target.slice(target.indexOf('.') + 1);
  const s3 = service === 's3' ? s3CallOf(request) : undefined;
  const operation = s3?.operation ?? named;
  const needs = s3 ? s3.needs : NEEDS[service]?.(operation, body, site);
  if (!needs) throw new UnmappedOperation(notKnown(`the operation ${service}:${operation}`));
  return { service, operation, needs, resource: resourceName(needs[0]?.resource ?? ''), caller: caller.name };
};

const NEEDS: Partial<Record<Service, typeof dynamodbNeeds>> = {
  dynamodb: dynamodbNeeds,
  sqs: sqsNeeds,
  events: eventsNeeds,
};

/** `table`, `table/index/name`, a queue's name, a bus's name, or a bucket's without the object. */
const resourceName = (arn: string): string => {
  const own = arn.split(':').slice(5).join(':');
  if (arn.startsWith('arn:aws:s3')) return own.split('/')[0] ?? '';
  return own.replace(/^(table|event-bus)\//, '');
};

export const parsedBody = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
};
