import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { z } from 'zod';
import { addSecurityChecks, createParleyApp } from '../../cdk/parley-app.ts';
import { ConfigError, defineConfig } from '../../shared/config/config.ts';
import { appOf, PROJECTS, Reference, templateOf } from './synthesized.ts';

const CERTIFICATE = 'arn:aws:acm:eu-central-1:111122223333:certificate/1';

const domain = { description: '' };
const code = () => Code.fromInline('export {}');

/** A policy as IAM gets it, with the longest ARNs that there are. */
const deployed = (policy: unknown, queueNames: Map<string, string>): string =>
  JSON.stringify(policy, (_, value: unknown) => {
    const { data: id } = Reference.safeParse(value);
    if (id === undefined) return value;
    return `arn:aws-us-gov:sqs:ap-southeast-1:111122223333:${queueNames.get(id) ?? 'x'.repeat(100)}`;
  });

describe('synthesis', () => {
  it('passes the rules of AwsSolutions with every option on, and for LocalStack', () => {
    const everything = { customerKey: true, domain: { name: 'parley.example.com', certificateArn: CERTIFICATE } };
    for (const { app } of [appOf(), appOf(everything), appOf({}, 'localstack')]) {
      addSecurityChecks(app);
      app.synth();
    }
  });

  it('fails where a rule is broken without a reason', (t) => {
    // The report itself goes to the console.
    t.mock.method(process.stderr, 'write', () => true);
    const { app, stack } = appOf();
    addSecurityChecks(app);
    new Bucket(stack, 'Careless');
    assert.throws(() => app.synth(), /Validation failed/);
  });

  it('stays below the limits of templates and policies with as many domains as the configuration allows', () => {
    const withDomains = (count: number) =>
      defineConfig({
        projects: {
          default: { domains: Object.fromEntries(Array.from({ length: count }, (_, at) => [`domain-${at}`, domain])) },
        },
        aws: { stage: 'production', customerKey: true },
      });
    const isAllowed = (count: number) => {
      try {
        return withDomains(count) !== undefined;
      } catch (error) {
        if (error instanceof ConfigError) return false;
        throw error;
      }
    };
    const most = Array.from({ length: 100 }, (_, at) => at + 1).filter(isAllowed).length;
    assert.ok(most >= 15 && most < 100, `${most} domains`);
    const { template, all } = templateOf(createParleyApp({ config: withDomains(most), code }).stack);
    assert.ok(Object.keys(template.Resources).length <= 500);
    assert.ok(JSON.stringify(template).length <= 1_000_000);
    const names = new Map(
      all('AWS::SQS::Queue', z.object({ QueueName: z.string() })).map((of) => [of.id, of.properties.QueueName]),
    );
    for (const { id, properties } of all('AWS::IAM::Policy', z.object({ PolicyDocument: z.unknown() }))) {
      const characters = deployed(properties.PolicyDocument, names).length;
      assert.ok(characters <= 10_240, `${id}: ${characters} characters`);
    }
  });

  it('needs an aws section', () => {
    const config = defineConfig({ projects: PROJECTS });
    assert.throws(() => createParleyApp({ config, code }), ConfigError);
  });
});
