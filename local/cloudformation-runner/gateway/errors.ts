import { randomUUID } from 'node:crypto';
import type { AwsCall, AwsResponse, AwsService } from './aws-call.ts';

export interface AwsError {
  status: number;
  code: string;
  message: string;
}

const NAMESPACES: Record<AwsService, string> = {
  dynamodb: 'com.amazonaws.dynamodb.v20120810',
  sqs: 'com.amazonaws.sqs',
  events: 'com.amazonaws.events',
  s3: '',
};

export const buildErrorResponse = (service: AwsService, { status, code, message }: AwsError): AwsResponse => {
  const requestId = randomUUID();
  if (service === 's3') {
    const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${escapeXml(message)}</Message><RequestId>${requestId}</RequestId></Error>`;
    return buildResponse(status, 'application/xml', body, { 'x-amz-request-id': requestId });
  }
  const type = `${code === 'AccessDeniedException' ? 'com.amazon.coral.service' : NAMESPACES[service]}#${code}`;
  const query: Record<string, string> = service === 'sqs' ? { 'x-amzn-query-error': `${code};Sender` } : {};
  const body = JSON.stringify({ __type: type, message });
  return buildResponse(status, 'application/x-amz-json-1.0', body, { 'x-amzn-requestid': requestId, ...query });
};

export const buildJsonResponse = (body: unknown): AwsResponse =>
  buildResponse(200, 'application/x-amz-json-1.1', JSON.stringify(body), { 'x-amzn-requestid': randomUUID() });

const buildResponse = (status: number, type: string, text: string, headers: Record<string, string>): AwsResponse => ({
  status,
  headers: { 'content-type': type, ...headers },
  body: Buffer.from(text),
});

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** DynamoDB and EventBridge answer 400, the other services 403. */
export const accessDeniedError = (service: AwsService, who: string, action: string, resource: string): AwsError => ({
  status: service === 's3' || service === 'sqs' ? 403 : 400,
  code: service === 's3' ? 'AccessDenied' : 'AccessDeniedException',
  message: `User: ${who} is not authorized to perform: ${action} on resource: ${resource} because no identity-based policy allows the ${action} action`,
});

export const throttledError = ({ service }: Pick<AwsCall, 'service'>): AwsError => {
  if (service === 'dynamodb') {
    return {
      status: 400,
      code: 'ProvisionedThroughputExceededException',
      message: 'The level of configured provisioned throughput for the table was exceeded.',
    };
  }
  if (service === 's3') return { status: 503, code: 'SlowDown', message: 'Please reduce your request rate.' };
  if (service === 'sqs') return { status: 403, code: 'RequestThrottled', message: 'Request throttled.' };
  return { status: 400, code: 'ThrottlingException', message: 'Rate exceeded' };
};
