import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Reference, synthesized } from './synthesized.ts';

const { all } = synthesized();
const queues = all(
  'AWS::SQS::Queue',
  z.object({
    QueueName: z.string(),
    FifoQueue: z.boolean().default(false),
    DeduplicationScope: z.string().optional(),
    FifoThroughputLimit: z.string().optional(),
    SqsManagedSseEnabled: z.boolean().optional(),
    VisibilityTimeout: z.number().optional(),
    MessageRetentionPeriod: z.number(),
    RedrivePolicy: z.object({ deadLetterTargetArn: Reference, maxReceiveCount: z.number() }).optional(),
  }),
);
const isDeadLetterQueue = (id: string) =>
  queues.some(({ properties }) => properties.RedrivePolicy?.deadLetterTargetArn === id);
const lanes = queues.filter(({ properties }) => /-(critical|high|normal|low)\.fifo$/.test(properties.QueueName));

describe('queues', () => {
  it('have a dead-letter queue, all but the dead-letter queues', () => {
    const without = queues.filter(({ id, properties }) => !properties.RedrivePolicy && !isDeadLetterQueue(id));
    assert.deepEqual(without, []);
    assert.equal(queues.filter(({ id }) => isDeadLetterQueue(id)).length, 4);
  });

  it('are one lane for each domain and priority, and where there is a relay for each priority, fast and patient', () => {
    const names = ['default-security', 'default-home', 'lab-research'].flatMap((domain) =>
      ['critical', 'high', 'normal', 'low'].map((priority) => `parley-test-${domain}-${priority}.fifo`),
    );
    const relays = ['critical', 'high', 'normal', 'low'].map(
      (priority) => `parley-test-default_relay-${priority}.fifo`,
    );
    assert.deepEqual(lanes.map(({ properties }) => properties.QueueName).sort(), [...names, ...relays].sort());
    for (const { properties } of lanes) {
      assert.equal(properties.FifoQueue, true);
      assert.equal(properties.DeduplicationScope, 'messageGroup');
      assert.equal(properties.FifoThroughputLimit, 'perMessageGroupId');
      assert.equal(properties.VisibilityTimeout, 30);
      assert.equal(properties.RedrivePolicy?.maxReceiveCount, 1000);
    }
  });

  it('keep their messages for 14 days, encrypted', () => {
    for (const { properties } of queues) {
      assert.equal(properties.MessageRetentionPeriod, 14 * 24 * 60 * 60);
      assert.equal(properties.SqsManagedSseEnabled, true);
    }
  });

  it('refuse whoever comes without TLS', () => {
    const Deny = z.object({
      Effect: z.literal('Deny'),
      Action: z.literal('sqs:*'),
      Condition: z.object({ Bool: z.object({ 'aws:SecureTransport': z.literal('false') }) }),
    });
    const policies = all(
      'AWS::SQS::QueuePolicy',
      z.object({ Queues: z.array(Reference), PolicyDocument: z.object({ Statement: z.tuple([Deny]) }) }),
    );
    assert.deepEqual(policies.flatMap(({ properties }) => properties.Queues).sort(), queues.map(({ id }) => id).sort());
  });

  it('are read by few at once, and hide what is read for six times the timeout of its function', () => {
    const functions = new Map(
      all('AWS::Lambda::Function', z.object({ Timeout: z.number() })).map(({ id, properties }) => [
        id,
        properties.Timeout,
      ]),
    );
    const mappings = all(
      'AWS::Lambda::EventSourceMapping',
      z.object({
        EventSourceArn: Reference,
        FunctionName: Reference,
        BatchSize: z.number(),
        FunctionResponseTypes: z.array(z.string()),
        ScalingConfig: z.object({ MaximumConcurrency: z.number() }).optional(),
      }),
    ).flatMap(({ properties }) => {
      const queue = queues.find(({ id }) => id === properties.EventSourceArn);
      return queue ? [{ ...properties, queue }] : [];
    });
    assert.deepEqual(
      mappings.map(({ queue, FunctionName, ScalingConfig }) => [
        queue.properties.QueueName,
        FunctionName.replace(/Function.*/, ''),
        ScalingConfig?.MaximumConcurrency,
      ]),
      [
        ['parley-test-delay', 'due', 20],
        ['parley-test-default-dead.fifo', 'deadletters', 2],
        ['parley-test-lab-dead.fifo', 'deadletters', 2],
      ],
    );
    for (const { queue, FunctionName, BatchSize, FunctionResponseTypes } of mappings) {
      const timeout = functions.get(FunctionName) ?? Number.NaN;
      assert.ok(
        (queue.properties.VisibilityTimeout ?? 0) >= 6 * timeout,
        `${queue.id}: ${queue.properties.VisibilityTimeout} s`,
      );
      assert.equal(BatchSize, 10);
      assert.deepEqual(FunctionResponseTypes, ['ReportBatchItemFailures']);
    }
  });
});
