import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Reference, synthesized } from './synthesized.ts';

describe('the outputs of the stack', () => {
  const { template, all } = synthesized();
  const referred = (name: string): string => Reference.parse(template.Outputs[name]?.Value);
  const typeOf = (name: string): string | undefined => template.Resources[referred(name)]?.Type;

  it('name the endpoint, the table, the buses and the buckets', () => {
    assert.deepEqual(['Endpoint', 'TableName', 'ContentBucketName', 'FailureBucketName'].map(typeOf), [
      'AWS::ApiGatewayV2::Api',
      'AWS::DynamoDB::Table',
      'AWS::S3::Bucket',
      'AWS::S3::Bucket',
    ]);
    assert.notEqual(referred('ContentBucketName'), referred('FailureBucketName'));
    const buses = all('AWS::Events::EventBus', z.object({ Name: z.string() }));
    assert.deepEqual(
      buses.map(({ properties }) => properties.Name),
      ['parley-test-default', 'parley-test-lab'],
    );
    for (const { id } of buses) assert.match(JSON.stringify(template.Outputs.BusNames?.Value), new RegExp(`"${id}"`));
  });

  it('say how the name of every queue begins', () => {
    const prefix = z.string().min(1).parse(template.Outputs.QueuePrefix?.Value);
    const names = all('AWS::SQS::Queue', z.object({ QueueName: z.string() })).map(
      (queue) => queue.properties.QueueName,
    );
    assert.deepEqual(
      names.filter((name) => !name.startsWith(prefix)),
      [],
    );
    assert.ok(names.includes(`${prefix}default-security-critical.fifo`));
  });

  it('say how to make the first admin key, and how to play back what the stream gave up', () => {
    const Command = z.object({
      'Fn::Join': z.tuple([
        z.literal(''),
        z.tuple([z.literal('aws lambda invoke --function-name '), Reference, z.string()]),
      ]),
    });
    const called = (name: string): string => Command.parse(template.Outputs[name]?.Value)['Fn::Join'][1][1];
    assert.match(called('AdminKeyCommand'), /^adminkeyFunction/);
    assert.match(called('ReplayCommand'), /^replayFunction/);
  });
});
