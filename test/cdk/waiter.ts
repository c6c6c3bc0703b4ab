import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { z } from 'zod';
import { WAITER_ROUTES } from '../../cdk/function-specs.ts';
import { addSecurityChecks, createParleyApp } from '../../cdk/parley-app.ts';
import { FunctionEnv } from '../../functions/runtime/env.ts';
import { ConfigError, defineConfig } from '../../shared/config/config.ts';
import { PROJECTS, synthesized, templateOf } from './synthesized.ts';

const withWaiter = (aws: object = { waiter: {} }) =>
  createParleyApp({
    config: defineConfig({ projects: PROJECTS, aws: { stage: 'test', ...aws } }),
    code: () => Code.fromInline('export {}'),
    waiterImage: () => ContainerImage.fromRegistry('parley-waiter'),
  });

const Integration = z.object({ IntegrationType: z.string(), ConnectionType: z.string().optional() });
const Route = z.object({
  RouteKey: z.string(),
  Target: z.object({ 'Fn::Join': z.tuple([z.literal(''), z.tuple([z.string(), z.object({ Ref: z.string() })])]) }),
});
const Container = z.object({
  ReadonlyRootFilesystem: z.boolean(),
  Environment: z.array(z.object({ Name: z.string(), Value: z.unknown() })),
});

describe('a waiter', () => {
  const { app, stack } = withWaiter();
  addSecurityChecks(app);
  app.synth();
  const { all } = templateOf(stack);

  it('is not there unless it is asked for, and nothing is rung then', () => {
    const { template } = synthesized();
    const types = Object.values(template.Resources).map(({ Type }) => Type);
    assert.deepEqual(
      types.filter((type) => /^AWS::(ECS|EC2|ServiceDiscovery)::|VpcLink/.test(type)),
      [],
    );
    assert.doesNotMatch(JSON.stringify(template), /WAKE_QUEUE_URL|parley-test-wake/);
  });

  it('gets what waits, through a link into its network, and the functions get the rest', () => {
    const links = new Set(
      all('AWS::ApiGatewayV2::Integration', Integration)
        .filter(({ properties }) => properties.ConnectionType === 'VPC_LINK')
        .map(({ id }) => id),
    );
    assert.equal(links.size, 1);
    const keys = all('AWS::ApiGatewayV2::Route', Route)
      .filter(({ properties }) => links.has(properties.Target['Fn::Join'][1][1].Ref))
      .map(({ properties }) => properties.RouteKey);
    assert.deepEqual(keys.sort(), [...WAITER_ROUTES].sort());
  });

  it('lets in the HTTP API alone', () => {
    const Ingress = z.object({
      FromPort: z.literal(8080),
      SourceSecurityGroupId: z.unknown(),
      CidrIp: z.never().optional(),
    });
    assert.equal(all('AWS::EC2::SecurityGroupIngress', Ingress).length, 1);
    const Group = z.object({ SecurityGroupIngress: z.never().optional() });
    assert.equal(all('AWS::EC2::SecurityGroup', Group).length, 2);
  });

  it('is one task with a read-only file system, which is told everything that it asks for and no secret', () => {
    const Service = z.object({ ServiceName: z.string(), DesiredCount: z.number() });
    assert.deepEqual(
      all('AWS::ECS::Service', Service).map(({ properties }) => [properties.ServiceName, properties.DesiredCount]),
      [['parley-test-waiter', 1]],
    );
    const [task] = all(
      'AWS::ECS::TaskDefinition',
      z.object({ Cpu: z.literal('256'), Memory: z.literal('512'), ContainerDefinitions: z.tuple([Container]) }),
    );
    const container = task?.properties.ContainerDefinitions[0];
    assert.equal(container?.ReadonlyRootFilesystem, true);
    const names = container.Environment.map(({ Name }) => Name);
    for (const name of FunctionEnv.omit({ EDGE_SECRET: true }).keyof().options) assert.ok(names.includes(name), name);
  });

  it('is rung by every function that may write what somebody waits for', () => {
    const Environment = z.object({
      FunctionName: z.string(),
      Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
    });
    const functions = all('AWS::Lambda::Function', Environment);
    for (const { properties } of functions) assert.ok('WAKE_QUEUE_URL' in properties.Environment.Variables);
    const Policy = z.object({ PolicyDocument: z.unknown(), Roles: z.array(z.object({ Ref: z.string() })) });
    const ringing = all('AWS::IAM::Policy', Policy)
      .filter(({ properties }) => /"Wake[0-9A-F]{8}"/.test(JSON.stringify(properties.PolicyDocument)))
      .map(({ properties }) => properties.Roles[0]?.Ref.replace(/Role.*/, ''));
    const names = ['Waiter', 'api', 'claims', 'deadletters', 'dispatch', 'due', 'ingest', 'replay', 'tasks'];
    assert.deepEqual(ringing.sort(), names);
  });

  it('is refused with less memory than Fargate sells with its CPU', () => {
    assert.throws(() => withWaiter({ waiter: { cpu: 1024 } }), ConfigError);
    assert.throws(() => withWaiter({ waiter: { cpu: 300 } }), ConfigError);
  });
});
