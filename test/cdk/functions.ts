import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { FUNCTION_NAMES } from '../../cdk/function-specs.ts';
import { FunctionEnv } from '../../functions/runtime/env.ts';
import { CLIENT_DEFAULTS } from '../../shared/engines/aws/aws-clients.ts';
import { HTTP_FUNCTIONS, Reference, synthesized } from './synthesized.ts';

const LambdaFunction = z.object({
  FunctionName: z.string(),
  Architectures: z.array(z.string()),
  Runtime: z.string(),
  Handler: z.string(),
  MemorySize: z.number(),
  Timeout: z.number(),
  ReservedConcurrentExecutions: z.number().optional(),
  LoggingConfig: z.object({ LogGroup: Reference, LogFormat: z.string() }),
  Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
});
const { all } = synthesized();
const functions = all('AWS::Lambda::Function', LambdaFunction);

describe('functions', () => {
  it('are all there, and none that the table does not know', () => {
    const names = functions.map(({ properties }) => properties.FunctionName);
    assert.deepEqual(names.sort(), FUNCTION_NAMES.map((name) => `parley-test-${name}`).sort());
  });

  it('run Node.js 24 on arm64', () => {
    for (const { properties } of functions) {
      assert.deepEqual(properties.Architectures, ['arm64']);
      assert.equal(properties.Runtime, 'nodejs24.x');
      assert.equal(properties.Handler, 'index.handler');
    }
  });

  it('outlive every call to AWS that they make, with all its attempts', () => {
    const { maxAttempts, requestHandler } = CLIENT_DEFAULTS;
    const longestS = (maxAttempts * requestHandler.requestTimeout) / 1000;
    for (const { id, properties } of functions) assert.ok(properties.Timeout > 2 * longestS, `${id} ends before`);
  });

  it('are told everything that they ask for', () => {
    for (const { id, properties } of functions) {
      const { Variables } = properties.Environment;
      for (const name of FunctionEnv.omit({ EDGE_SECRET: true, WAKE_QUEUE_URL: true }).keyof().options)
        assert.ok(Variables[name], `${id} lacks ${name}`);
      assert.equal(Variables.STAGE, 'test');
      // Node would read and parse all maps at each cold start.
      assert.equal(Variables.NODE_OPTIONS, undefined);
      assert.equal(`parley-test-${Variables.POWERTOOLS_SERVICE_NAME}`, properties.FunctionName);
    }
  });

  it('find any lane by the part of a real URL that all lanes share', () => {
    const Prefix = z.object({
      'Fn::Select': z.tuple([z.literal(0), z.object({ 'Fn::Split': z.tuple([z.string(), Reference]) })]),
    });
    const queues = new Map(
      all('AWS::SQS::Queue', z.object({ QueueName: z.string() })).map(({ id, properties }) => [
        id,
        properties.QueueName,
      ]),
    );
    for (const { properties } of functions) {
      const [, split] = Prefix.parse(properties.Environment.Variables.QUEUE_URL_PREFIX)['Fn::Select'];
      const [suffix, queue] = split['Fn::Split'];
      assert.equal(queues.get(queue), `parley-test-${suffix}`);
    }
  });

  it('log in JSON to groups of their own that forget', () => {
    const groups = all('AWS::Logs::LogGroup', z.object({ LogGroupName: z.string(), RetentionInDays: z.number() }));
    for (const { properties } of functions) {
      const group = groups.find(({ id }) => id === properties.LoggingConfig.LogGroup);
      assert.equal(group?.properties.LogGroupName, `/aws/lambda/${properties.FunctionName}`);
      assert.equal(properties.LoggingConfig.LogFormat, 'JSON');
    }
    for (const { properties } of groups) assert.equal(properties.RetentionInDays, 30);
  });

  it('answer before the HTTP API gives up after 30 s', () => {
    const behindHttp = all('AWS::ApiGatewayV2::Integration', z.object({ IntegrationUri: Reference }));
    assert.equal(behindHttp.length, HTTP_FUNCTIONS.size);
    for (const { properties } of behindHttp) {
      const timeout = functions.find(({ id }) => id === properties.IntegrationUri)?.properties.Timeout ?? Number.NaN;
      assert.ok(timeout < 30, `${properties.IntegrationUri}: ${timeout} s`);
    }
  });

  it('reserve none of the account’s concurrency, of which a new account has too little', () => {
    for (const { id, properties } of functions) assert.equal(properties.ReservedConcurrentExecutions, undefined, id);
  });

  it('that wait for something have room for it, when they take 80 MB before their first call', () => {
    for (const name of ['claims', 'tasks', 'api']) {
      const memory = functions.find(({ properties }) => properties.FunctionName === `parley-test-${name}`)?.properties;
      assert.ok((memory?.MemorySize ?? 0) >= 256, `${name}: ${memory?.MemorySize} MB`);
    }
  });

  it('that carry out what follows from changes have a whole core', () => {
    const dispatch = functions.find(({ properties }) => properties.FunctionName === 'parley-test-dispatch');
    assert.equal(dispatch?.properties.MemorySize, 1769);
  });

  const Rule = z.object({
    ScheduleExpression: z.string(),
    Targets: z.tuple([z.object({ Arn: Reference, Input: z.string(), RetryPolicy: z.unknown() })]),
  });
  const scheduled = all('AWS::Events::Rule', Rule).map(({ properties }) => {
    const [{ Arn, Input, RetryPolicy }] = properties.Targets;
    const { FunctionName, Timeout } = functions.find(({ id }) => id === Arn)?.properties ?? {};
    return { id: Arn, every: properties.ScheduleExpression, FunctionName, Timeout, Input, RetryPolicy };
  });

  it('include a sweep every minute, which ends before the next, and a replay every five minutes', () => {
    assert.deepEqual(
      scheduled.map(({ FunctionName, every }) => [FunctionName, every]),
      [
        ['parley-test-sweep', 'rate(1 minute)'],
        ['parley-test-replay', 'rate(5 minutes)'],
      ],
    );
    assert.ok((scheduled[0]?.Timeout ?? Number.NaN) < 60);
    // LocalStack calls no target with an empty object.
    for (const { Input } of scheduled) assert.equal(Input, '{"scheduled":true}');
  });

  it('that run by the clock are not tried again, neither by the rule nor by Lambda', () => {
    const once = { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 };
    for (const { RetryPolicy } of scheduled) assert.deepEqual(RetryPolicy, once);
    const Config = z.object({ FunctionName: Reference, Qualifier: z.literal('$LATEST') }).loose();
    assert.deepEqual(
      all('AWS::Lambda::EventInvokeConfig', Config).map(({ properties }) => properties),
      scheduled.map(({ id }) => ({ FunctionName: id, Qualifier: '$LATEST', ...once })),
    );
  });

  it('that an operator runs may take their time', () => {
    const { ReplayCommand } = synthesized().template.Outputs;
    assert.match(JSON.stringify(ReplayCommand), /--cli-read-timeout 0 /);
  });
});
