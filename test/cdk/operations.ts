import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { appOf, HTTP_FUNCTIONS, synthesized } from './synthesized.ts';

const CERTIFICATE = 'arn:aws:acm:us-east-1:111122223333:certificate/1';

describe('a stage that is kept', () => {
  it('is protected from an end that nobody means, and keeps its logs', () => {
    const policies = (aws: Parameters<typeof appOf>[0]) =>
      new Set(
        synthesized(aws)
          .all('AWS::Logs::LogGroup', z.unknown())
          .map(({ deletionPolicy }) => deletionPolicy),
      );
    assert.equal(appOf().stack.terminationProtection, true);
    assert.deepEqual([...policies({})], ['Retain']);
    assert.equal(appOf({ removal: 'destroy' }).stack.terminationProtection, false);
    assert.deepEqual([...policies({ removal: 'destroy' })], ['Delete']);
  });

  it('has its name on all that costs, for the bill', () => {
    const Tagged = z.object({ Tags: z.array(z.object({ Key: z.string(), Value: z.string() })).default([]) });
    for (const type of ['AWS::SQS::Queue', 'AWS::Lambda::Function', 'AWS::S3::Bucket', 'AWS::Logs::LogGroup'])
      for (const { id, properties } of synthesized().all(type, Tagged))
        assert.ok(
          properties.Tags.some(({ Key, Value }) => Key === 'parley:stage' && Value === 'test'),
          id,
        );
  });
});

describe('logs', () => {
  const Logging = z.object({
    LoggingConfig: z.object({ SystemLogLevel: z.string(), ApplicationLogLevel: z.string(), LogFormat: z.string() }),
  });

  it('have no line of Lambda itself about a run that went well', () => {
    for (const { id, properties } of synthesized().all('AWS::Lambda::Function', Logging)) {
      const { SystemLogLevel, ApplicationLogLevel } = properties.LoggingConfig;
      assert.deepEqual([SystemLogLevel, ApplicationLogLevel], ['WARN', 'INFO'], id);
    }
  });
});

describe('a canary', () => {
  it('has the calls of agents on the alias that it moves, and goes back by the alarms of errors', () => {
    const { all } = synthesized({ canary: true });
    const groups = all(
      'AWS::CodeDeploy::DeploymentGroup',
      z.object({
        DeploymentConfigName: z.unknown(),
        AlarmConfiguration: z.object({ Alarms: z.array(z.unknown()), Enabled: z.literal(true) }),
        AutoRollbackConfiguration: z.object({ Events: z.array(z.string()) }),
      }),
    );
    assert.equal(groups.length, HTTP_FUNCTIONS.size);
    for (const { properties } of groups) {
      assert.match(JSON.stringify(properties.DeploymentConfigName), /LambdaCanary10Percent5Minutes/);
      assert.ok(properties.AlarmConfiguration.Alarms.length >= 2);
      assert.ok(properties.AutoRollbackConfiguration.Events.includes('DEPLOYMENT_STOP_ON_ALARM'));
    }
    const aliases = new Set(all('AWS::Lambda::Alias', z.unknown()).map(({ id }) => id));
    for (const { properties } of all('AWS::ApiGatewayV2::Integration', z.object({ IntegrationUri: z.unknown() })))
      assert.ok(
        [...aliases].some((id) => JSON.stringify(properties.IntegrationUri).includes(id)),
        JSON.stringify(properties),
      );
    assert.deepEqual(synthesized().all('AWS::Lambda::Alias', z.unknown()), []);
  });
});

describe('the edge', () => {
  const domain = { name: 'parley.example.com', certificateArn: CERTIFICATE };
  const { all, template } = synthesized({ edge: { rate: 500, domain } });
  const [distribution] = all('AWS::CloudFront::Distribution', z.object({ DistributionConfig: z.unknown() }));
  const text = JSON.stringify(distribution?.properties);

  it('sends the secret that the functions behind the API ask for, and no others have', () => {
    const [, header] = /"HeaderName":"x-parley-edge","HeaderValue":(\{.*?\]\]\})/.exec(text) ?? [];
    assert.match(header ?? '', /resolve:secretsmanager/);
    const Env = z.object({
      FunctionName: z.string(),
      Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
    });
    for (const { properties } of all('AWS::Lambda::Function', Env)) {
      const { EDGE_SECRET: secret } = properties.Environment.Variables;
      const name = properties.FunctionName.replace('parley-test-', '');
      assert.equal(secret && JSON.stringify(secret), HTTP_FUNCTIONS.has(name as never) ? header : undefined, name);
    }
    assert.doesNotMatch(JSON.stringify(synthesized().template), /EDGE_SECRET/);
  });

  it('has a firewall with a rate for each address, and rules of AWS that do not look into bodies', () => {
    const [firewall] = all('AWS::WAFv2::WebACL', z.object({ Scope: z.literal('CLOUDFRONT'), Rules: z.unknown() }));
    const rules = JSON.stringify(firewall?.properties.Rules);
    assert.match(rules, /"RateBasedStatement":\{"AggregateKeyType":"IP","EvaluationWindowSec":300,"Limit":500\}/);
    assert.match(rules, /AWSManagedRulesAmazonIpReputationList/);
    assert.match(text, new RegExp(`"WebACLId":\\{"Fn::GetAtt":\\["${firewall?.id}","Arn"\\]`));
  });

  it('is the address of the API, passes all of a call on, and caches nothing', () => {
    assert.match(text, /"Aliases":\["parley\.example\.com"\]/);
    assert.equal(template.Outputs.Endpoint?.Value, 'https://parley.example.com');
    assert.match(text, /"AllowedMethods":\["GET","HEAD","OPTIONS","PUT","PATCH","POST","DELETE"\]/);
    // CloudFront's names for the policies CachingDisabled and AllViewerExceptHostHeader.
    assert.match(text, /"CachePolicyId":"4135ea2d-6df8-44a3-9df3-4b5a84be39ad"/);
    assert.match(text, /"OriginRequestPolicyId":"b689b0a8-53d0-40ab-baf2-68738e2966ac"/);
  });
});
