import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NestedStack } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { z } from 'zod';
import { addSecurityChecks, createParleyApp } from '../../cdk/parley-app.ts';
import { ConfigError, defineConfig } from '../../shared/config/config.ts';
import { appOf, PROJECTS, Reference, templateOf } from './synthesized.ts';

const CERTIFICATE = 'arn:aws:acm:eu-central-1:111122223333:certificate/1';

const BUS = 'arn:aws:events:eu-central-1:111122223333:event-bus/theirs';

const domain = { description: '' };
const code = () => Code.fromInline('export {}');

/** More domains than policies can name. */
const many = () => {
  const domains = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`d${at}`, domain]));
  const config = defineConfig({ projects: { default: { domains } }, aws: { stage: 'test' } });
  return createParleyApp({ config, code });
};

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
    const edge = { customerKey: true, canary: true, edge: {}, subscriptions: { x: { queue: 'x' }, y: { bus: BUS } } };
    for (const { app } of [appOf(), appOf(everything), appOf(edge), appOf({}, 'localstack'), many()]) {
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

  for (const count of [13, 14, 25, 200]) {
    it(`stays below the limits of templates and policies with ${count} domains`, () => {
      const domains = Object.fromEntries(Array.from({ length: count }, (_, at) => [`a-domain-${at}`, domain]));
      const subscriptions = { finished: { queue: 'finished' } };
      const config = defineConfig({
        projects: { default: { domains, relay: true } },
        aws: { stage: 'production', customerKey: true, canary: true, edge: {}, subscriptions },
      });
      const { stack } = createParleyApp({ config, code });
      const main = templateOf(stack);
      const nested = stack.node.findAll().filter((one) => NestedStack.isNestedStack(one));
      const templates = [main, ...nested.map((one) => templateOf(one))];
      for (const { template } of templates) {
        assert.ok(Object.keys(template.Resources).length <= 500, `${Object.keys(template.Resources).length} resources`);
        assert.ok(Object.keys(template.Outputs).length <= 200);
        assert.ok(JSON.stringify(template).length <= 1_000_000);
      }
      const named = templates.flatMap(({ all }) => all('AWS::SQS::Queue', z.object({ QueueName: z.string() })));
      const tasks = named.filter(({ properties }) => /-(critical|high|normal|low)\.fifo$/.test(properties.QueueName));
      assert.equal(tasks.length, 4 * count + 4);
      const names = new Map(named.map((of) => [of.id, of.properties.QueueName]));
      for (const { id, properties } of main.all('AWS::IAM::Policy', z.object({ PolicyDocument: z.unknown() }))) {
        const characters = deployed(properties.PolicyDocument, names).length;
        assert.ok(characters <= 10_240, `${id}: ${characters} characters`);
      }
    });
  }

  it('moves no queue when a domain is appended, however many there are', () => {
    const placesOf = (count: number): Map<string, string> => {
      const domains = Object.fromEntries(Array.from({ length: count }, (_, at) => [`d${at}`, domain]));
      const config = defineConfig({ projects: { default: { domains } }, aws: { stage: 'test' } });
      const { stack } = createParleyApp({ config, code });
      const nested = stack.node.findAll().filter((one) => NestedStack.isNestedStack(one));
      return new Map(
        [stack, ...nested].flatMap((one) =>
          templateOf(one)
            .all('AWS::SQS::Queue', z.object({ QueueName: z.string() }))
            .map(({ id, properties }): [string, string] => [properties.QueueName, `${one.node.path} ${id}`]),
        ),
      );
    };
    const after = placesOf(90);
    for (const [name, place] of placesOf(24)) assert.equal(after.get(name), place);
  });

  it('needs an aws section', () => {
    const config = defineConfig({ projects: PROJECTS });
    assert.throws(() => createParleyApp({ config, code }), ConfigError);
  });
});
