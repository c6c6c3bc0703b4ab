import assert from 'node:assert/strict';
import { it } from 'node:test';

const SECRET = 'only CloudFront and the functions know it';

Object.assign(process.env, {
  STAGE: 'test',
  TABLE_NAME: 'none',
  BUCKET_NAME: 'none',
  QUEUE_URL_PREFIX: 'https://sqs.us-east-1.amazonaws.com/000000000000/parley-',
  DELAY_QUEUE_URL: 'https://sqs.us-east-1.amazonaws.com/000000000000/delay',
  EDGE_SECRET: SECRET,
  AWS_REGION: 'us-east-1',
});

const { handler } = await import('../../functions/api.ts');

const call = (headers: Record<string, string>) => {
  const requestContext = { requestId: '1', domainName: 'api', http: { method: 'GET', sourceIp: '203.0.113.1' } };
  const event = { rawPath: '/openapi.json', rawQueryString: '', headers, requestContext, isBase64Encoded: false };
  const context = { awsRequestId: '1', getRemainingTimeInMillis: () => 1000 };
  return handler(event as never, context as never);
};

it('a function behind CloudFront refuses calls that pass it by, and answers those that came through it', async () => {
  const strange: Record<string, string>[] = [{}, { 'x-parley-edge': '' }, { 'x-parley-edge': 'a guess' }];
  for (const headers of strange) assert.deepEqual(await call(headers), { statusCode: 403, body: '' });
  const { statusCode } = await call({ 'x-parley-edge': SECRET });
  assert.equal(statusCode, 200);
});
