import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { DEFAULT_ROUTE_FUNCTION, ROUTES } from '../../cdk/function-specs.ts';
import { Reference, synthesized } from './synthesized.ts';

/** What `localstack/localstack:4.14.0` can make without a token, of what Parley could use. */
const FREE = [
  'AWS::DynamoDB::Table',
  'AWS::Events::EventBus',
  'AWS::Events::Rule',
  'AWS::IAM::Policy',
  'AWS::IAM::Role',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Function',
  'AWS::Lambda::Permission',
  'AWS::Lambda::Url',
  'AWS::Logs::LogGroup',
  'AWS::S3::Bucket',
  'AWS::S3::BucketPolicy',
  'AWS::SQS::Queue',
  'AWS::SQS::QueuePolicy',
];

describe('for LocalStack', () => {
  const rich = {
    customerKey: true,
    domain: { name: 'parley.example.com', certificateArn: 'arn:aws:acm:eu-central-1:111122223333:certificate/1' },
    alarms: { email: 'somebody@example.com' },
  };
  const { template, all } = synthesized(rich, 'localstack');

  it('the template has only what the free tier has, whatever else is configured', () => {
    const types = new Set(Object.values(template.Resources).map(({ Type }) => Type));
    assert.deepEqual([...types].sort(), FREE);
  });

  it('every function behind a route has an address of its own, open to all as the HTTP API is', () => {
    const urls = all('AWS::Lambda::Url', z.object({ AuthType: z.literal('NONE'), TargetFunctionArn: Reference }));
    const named = all('AWS::Lambda::Function', z.object({ FunctionName: z.string() }));
    const names = urls.map(
      ({ properties }) => named.find(({ id }) => id === properties.TargetFunctionArn)?.properties.FunctionName,
    );
    const expected = new Set(
      [...ROUTES.map(({ to }) => to), DEFAULT_ROUTE_FUNCTION].map((name) => `parley-test-${name}`),
    );
    assert.deepEqual(names.sort(), [...expected].sort());
  });

  it('an output says which address takes which route', () => {
    const routes = JSON.stringify(template.Outputs.Routes?.Value);
    for (const { method, path } of ROUTES) assert.ok(routes.includes(`${method} ${path}`), path);
    assert.ok(routes.includes('$default'));
  });

  it('nothing outlives the container', () => {
    const kept = Object.values(template.Resources).filter(({ DeletionPolicy }) => DeletionPolicy === 'Retain');
    assert.deepEqual(kept, []);
  });
});
