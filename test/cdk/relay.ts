import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { z } from 'zod';
import { addSecurityChecks, createParleyApp } from '../../cdk/parley-app.ts';
import type { DeployTarget } from '../../cdk/parley-stack.ts';
import { ConfigError, defineConfig } from '../../shared/config/config.ts';
import { PROJECTS, Reference, synthesized, templateOf } from './synthesized.ts';

const NATS = { natsServers: ['nats://nats.example.com:4222'] };

const withRelay = (aws: object = { relay: NATS }, relay = 'fargate', target?: DeployTarget) =>
  createParleyApp({
    config: defineConfig({ projects: PROJECTS, aws: { stage: 'test', ...aws } }),
    code: () => Code.fromInline('export {}'),
    relayImage: () => ContainerImage.fromRegistry('parley-relay'),
    relay,
    target,
  });

const Statement = z.object({
  Action: z.union([z.string().transform((action) => [action]), z.array(z.string())]),
  Resource: z.union([Reference.transform((id) => [id]), z.array(Reference), z.literal('*').transform(() => ['*'])]),
});
const Policy = z.object({ PolicyDocument: z.object({ Statement: z.array(Statement) }), Roles: z.array(Reference) });
const Container = z.object({
  ReadonlyRootFilesystem: z.boolean(),
  Environment: z.array(z.object({ Name: z.string(), Value: z.unknown() })),
  Secrets: z.array(z.object({ Name: z.string() })),
});

describe('relays on Fargate', () => {
  it('are not there unless they are asked for', () => {
    const types = Object.values(synthesized().template.Resources).map(({ Type }) => Type);
    assert.deepEqual(
      types.filter((type) => /^AWS::(ECS|EC2|SecretsManager)::/.test(type)),
      [],
    );
  });

  it('run for each project that has one, with a read-only file system, its key from Secrets Manager, and no way in', () => {
    const { app, stack } = withRelay();
    addSecurityChecks(app);
    app.synth();
    const { all } = templateOf(stack);
    const Service = z.object({ ServiceName: z.string(), DesiredCount: z.number() });
    assert.deepEqual(
      all('AWS::ECS::Service', Service).map(({ properties }) => [properties.ServiceName, properties.DesiredCount]),
      [['parley-test-default-relay', 1]],
    );
    const [task] = all('AWS::ECS::TaskDefinition', z.object({ ContainerDefinitions: z.tuple([Container]) }));
    const container = task?.properties.ContainerDefinitions[0];
    assert.equal(container?.ReadonlyRootFilesystem, true);
    assert.deepEqual(
      container?.Secrets.map(({ Name }) => Name),
      ['PARLEY_RELAY_KEY'],
    );
    const names = container?.Environment.map(({ Name }) => Name).sort();
    assert.deepEqual(names, [
      'AWS_REGION',
      'NATS_SERVERS',
      'NATS_TLS_ENABLED',
      'PARLEY_QUEUE_URL_PREFIX',
      'PARLEY_URL',
    ]);
    const Group = z.object({
      SecurityGroupIngress: z.never().optional(),
      SecurityGroupEgress: z.array(z.object({ FromPort: z.number() })),
    });
    const [group] = all('AWS::EC2::SecurityGroup', Group);
    assert.deepEqual(
      group?.properties.SecurityGroupEgress.map(({ FromPort }) => FromPort),
      [443, 4222],
    );
  });

  it('can be deployed before they have a key, without any that would stop for lack of it', () => {
    const { all } = templateOf(withRelay({ relay: { ...NATS, count: 0 } }).stack);
    const Service = z.object({ DesiredCount: z.number() });
    assert.deepEqual(
      all('AWS::ECS::Service', Service).map(({ properties }) => properties.DesiredCount),
      [0],
    );
    assert.equal(all('AWS::SecretsManager::Secret', z.unknown()).length, 1);
  });

  it('may read the relay queues of their project, and do nothing else', () => {
    const { all } = templateOf(withRelay().stack);
    const Any = z.looseObject({ Roles: z.array(z.unknown()) });
    const own = all('AWS::IAM::Policy', Any).filter(({ id }) => /^RelaydefaultTaskTaskRole/.test(id));
    const statements = own.flatMap(({ properties }) => Policy.parse(properties).PolicyDocument.Statement);
    assert.deepEqual(
      statements.flatMap(({ Action }) => Action),
      ['sqs:ChangeMessageVisibility', 'sqs:DeleteMessage', 'sqs:ReceiveMessage'],
    );
    const resources = statements.flatMap(({ Resource }) => Resource);
    assert.equal(resources.length, 4);
    for (const id of resources) assert.match(id, /^Lanesdefaultrelay(critical|high|normal|low)/);
  });

  it('are refused without an address of NATS, for LocalStack, and as anything but fargate', () => {
    assert.throws(() => withRelay({}), ConfigError);
    assert.throws(() => withRelay({ relay: NATS }, 'fargate', 'localstack'), /LocalStack has no Fargate/);
    assert.throws(() => withRelay({ relay: NATS }, 'ec2'), /there is only fargate/);
  });
});
