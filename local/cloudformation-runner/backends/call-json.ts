import type { AwsRequest, AwsResponse } from '../gateway/aws-call.ts';

export const buildJsonRequest = (
  accessKey: string,
  region: string,
  service: string,
  target: string,
  body: unknown,
  signal?: AbortSignal,
): AwsRequest => ({
  method: 'POST',
  path: '/',
  headers: {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': target,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/${region}/${service}/aws4_request, SignedHeaders=host, Signature=local`,
  },
  body: Buffer.from(JSON.stringify(body)),
  signal,
});

export class CallFailedError extends Error {
  readonly code: string;

  constructor(target: string, code: string, message: string) {
    super(`${target}: ${code}: ${message}`);
    this.code = code;
  }
}

export const parseJsonResponse = (target: string, { status, body }: AwsResponse): unknown => {
  const parsed: unknown = body.length > 0 ? JSON.parse(body.toString()) : {};
  if (status === 200) return parsed;
  const { __type: type = '', message, Message } = Object(parsed);
  throw new CallFailedError(target, String(type).split('#').at(-1) ?? '', String(message ?? Message ?? status));
};
