import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { throttledError } from '../../local/cloudformation-runner/gateway/errors.ts';
import { below, deployed, getAtt, ref, type SmallDeployment, TABLE, wholeSuite } from './small-template.ts';

/** Runs the call that its event names, with the real SDK, and tells what came of it. */
const CALLER = `
import * as dynamodb from '@aws-sdk/client-dynamodb';
import * as sqs from '@aws-sdk/client-sqs';
import * as s3 from '@aws-sdk/client-s3';
import * as events from '@aws-sdk/client-eventbridge';
const services = { dynamodb, sqs, s3, events };
const clients = {
  dynamodb: new dynamodb.DynamoDBClient({ maxAttempts: 2 }),
  sqs: new sqs.SQSClient({ maxAttempts: 1 }),
  s3: new s3.S3Client({ maxAttempts: 1 }),
  events: new events.EventBridgeClient({ maxAttempts: 1 }),
};
export const handler = async ({ service, command, input }) => {
  try {
    const answer = await clients[service].send(new services[service][command + 'Command'](input));
    const body = answer.Body?.transformToString ? await answer.Body.transformToString() : undefined;
    return { ...answer, Body: body, $metadata: undefined };
  } catch (error) {
    return { error: error.name, message: error.message, status: error.$metadata?.httpStatusCode };
  }
};
`;

const item = (pk: string, more: object = {}) => ({ pk: { S: pk }, sk: { S: 'x' }, ...more });
const key = (pk: string) => ({ pk: { S: pk }, sk: { S: 'x' } });
const TABLE_ARN = 'arn:aws:dynamodb:us-east-1:000000000000:table/things';

describe('a call to AWS', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;

  const laneUrl = (): string => `${here.gatewayAddress}/000000000000/lane.fifo`;

  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back, and fail where it is not there
  const call = async (caller: string, service: string, command: string, input: object): Promise<any> => {
    const result = await here.invoke(caller, { service, command, input });
    assert.ok(result.ok === true, JSON.stringify(result));
    return JSON.parse(result.result);
  };

  before(async () => {
    const allow = [
      { Action: ['dynamodb:PutItem', 'dynamodb:GetItem', 'dynamodb:BatchGetItem'], Resource: getAtt('Table') },
      { Action: 'dynamodb:Query', Resource: below('Table', '/index/*') },
      { Action: 'dynamodb:DeleteItem', Resource: getAtt('Table') },
      { Action: 'sqs:SendMessage', Resource: getAtt('Lane') },
      {
        Action: ['sqs:SendMessage', 'sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility'],
        Resource: getAtt('Returns'),
      },
      { Action: ['s3:PutObject', 's3:GetObject'], Resource: below('Content', '/*') },
      { Action: 'events:PutEvents', Resource: getAtt('Bus') },
      { Action: 'logs:PutLogEvents', Resource: '*' },
    ];
    here = await deployed(
      owner,
      {
        writer: { code: CALLER, allow, env: { LANE: ref('Lane') }, properties: { Timeout: 20 } },
        lister: {
          code: CALLER,
          allow: [
            { Action: 's3:GetObject', Resource: below('Content', '/*') },
            { Action: 's3:ListBucket', Resource: getAtt('Content') },
          ],
          properties: { Timeout: 20 },
        },
        nobody: { code: CALLER, properties: { Timeout: 20 } },
      },
      {
        ...TABLE,
        Lane: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'lane.fifo', FifoQueue: true } },
        Returns: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'returns.fifo', FifoQueue: true } },
        Content: { Type: 'AWS::S3::Bucket', Properties: { BucketName: 'content' } },
        Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'news' } },
      },
    );
  });

  beforeEach(() => {
    here.trouble.length = 0;
    here.gateway.faults = undefined;
    here.gateway.meter.reset();
    here.gateway.meter.isOn = false;
  });

  it('is carried out if the role of its function allows it', async () => {
    await call('writer', 'dynamodb', 'PutItem', { TableName: 'things', Item: item('a', { colour: { S: 'red' } }) });
    const found = await call('writer', 'dynamodb', 'GetItem', { TableName: 'things', Key: key('a') });
    assert.equal(found.Item.colour.S, 'red');
    const query = { KeyConditionExpression: 'colour = :c', ExpressionAttributeValues: { ':c': { S: 'red' } } };
    const byColour = await call('writer', 'dynamodb', 'Query', {
      TableName: 'things',
      IndexName: 'by-colour',
      ...query,
    });
    assert.equal(byColour.Count, 1);
    const message = { QueueUrl: laneUrl(), MessageBody: 'hello', MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    assert.ok((await call('writer', 'sqs', 'SendMessage', message)).MessageId);
    const sent = await call('writer', 'events', 'PutEvents', {
      Entries: [{ EventBusName: 'news', Source: 'test', DetailType: 'x', Detail: '{}' }],
    });
    assert.equal(sent.FailedEntryCount, 0);
    await call('writer', 's3', 'PutObject', { Bucket: 'content', Key: 'a/b c.txt', Body: 'text' });
    assert.equal((await call('writer', 's3', 'GetObject', { Bucket: 'content', Key: 'a/b c.txt' })).Body, 'text');
    assert.deepEqual(here.trouble, []);
  });

  it('can give back to a queue what it received from it, for the next to receive', async () => {
    const queue = { QueueUrl: `${here.gatewayAddress}/000000000000/returns.fifo` };
    const sent = { ...queue, MessageBody: 'again', MessageGroupId: 'g', MessageDeduplicationId: 'd' };
    await call('writer', 'sqs', 'SendMessage', sent);
    const receive = async () => (await call('writer', 'sqs', 'ReceiveMessage', queue)).Messages ?? [];
    const release = { VisibilityTimeout: 0 };
    const [first] = await receive();
    assert.equal(first.Body, 'again');
    assert.deepEqual(await receive(), []);
    await call('writer', 'sqs', 'ChangeMessageVisibility', {
      ...queue,
      ...release,
      ReceiptHandle: first.ReceiptHandle,
    });
    const [second] = await receive();
    assert.equal(second.Body, 'again');
    const Entries = [{ Id: '1', ReceiptHandle: second.ReceiptHandle, ...release }];
    await call('writer', 'sqs', 'ChangeMessageVisibilityBatch', { ...queue, Entries });
    assert.equal((await receive())[0].Body, 'again');
  });

  const refusals: [service: string, command: string, input: object, error: string, action: string, resource: string][] =
    [
      [
        'dynamodb',
        'UpdateItem',
        { TableName: 'things', Key: key('a') },
        'AccessDeniedException',
        'dynamodb:UpdateItem',
        TABLE_ARN,
      ],
      [
        'dynamodb',
        'Query',
        { TableName: 'things', KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': { S: 'a' } } },
        'AccessDeniedException',
        'dynamodb:Query',
        TABLE_ARN,
      ],
      [
        'dynamodb',
        'TransactWriteItems',
        {
          TransactItems: [
            { Put: { TableName: 'things', Item: item('t') } },
            { ConditionCheck: { TableName: 'things', Key: key('a'), ConditionExpression: 'attribute_exists(pk)' } },
          ],
        },
        'AccessDeniedException',
        'dynamodb:ConditionCheckItem',
        TABLE_ARN,
      ],
      [
        'dynamodb',
        'GetItem',
        { TableName: 'others', Key: key('a') },
        'AccessDeniedException',
        'dynamodb:GetItem',
        TABLE_ARN.replace('things', 'others'),
      ],
      [
        'sqs',
        'ReceiveMessage',
        { QueueUrl: 'the lane' },
        'AccessDeniedException',
        'sqs:ReceiveMessage',
        'arn:aws:sqs:us-east-1:000000000000:lane.fifo',
      ],
      [
        's3',
        'DeleteObject',
        { Bucket: 'content', Key: 'a' },
        'AccessDenied',
        's3:DeleteObject',
        'arn:aws:s3:::content/a',
      ],
      ['s3', 'ListObjectsV2', { Bucket: 'content' }, 'AccessDenied', 's3:ListBucket', 'arn:aws:s3:::content'],
      [
        'events',
        'PutEvents',
        { Entries: [{ Source: 'test', DetailType: 'x', Detail: '{}' }] },
        'AccessDeniedException',
        'events:PutEvents',
        'arn:aws:events:us-east-1:000000000000:event-bus/default',
      ],
    ];
  for (const [service, command, input, error, action, resource] of refusals) {
    it(`is refused by name without a grant: ${command} on ${resource.split(':').at(-1)}`, async () => {
      const addressed = 'QueueUrl' in input ? { QueueUrl: laneUrl() } : {};
      const refused = await call('writer', service, command, { ...input, ...addressed });
      assert.equal(refused.error, error, JSON.stringify(refused));
      const sentence = `is not authorized to perform: ${action} on resource: ${resource} `;
      assert.ok(refused.message.includes(`assumed-role/Parley-writerRole/writer ${sentence}`), refused.message);
      assert.ok(here.trouble[0]?.includes(sentence), 'it is told to the person as well');
    });
  }

  it('is refused to a function that has no grants at all, whatever others have', async () => {
    const refused = await call('nobody', 'dynamodb', 'GetItem', { TableName: 'things', Key: key('a') });
    assert.equal(refused.error, 'AccessDeniedException');
  });

  it('is refused by name if the runner does not know the operation', async () => {
    const refused = await call('writer', 'dynamodb', 'ExecuteStatement', { Statement: 'SELECT * FROM things' });
    assert.match(refused.message, /the operation dynamodb:ExecuteStatement is not known to the local runner/);
  });

  it('for an object that is not there is refused to who may not list the bucket', async () => {
    const missing = { Bucket: 'content', Key: 'nothing' };
    assert.equal((await call('writer', 's3', 'GetObject', missing)).error, 'AccessDenied');
    assert.equal((await call('lister', 's3', 'GetObject', missing)).error, 'NoSuchKey');
  });

  it('marks the grants that it needs, and the others are listed', async () => {
    await call('writer', 'dynamodb', 'PutItem', { TableName: 'things', Item: item('used') });
    const unused = here.listUnusedGrants();
    assert.deepEqual(
      unused.filter(({ functionName }) => functionName === 'writer').map(({ action }) => action),
      ['dynamodb:BatchGetItem', 'dynamodb:DeleteItem'],
    );
    await call('writer', 'dynamodb', 'DeleteItem', { TableName: 'things', Key: key('used') });
    assert.ok(!here.listUnusedGrants().some(({ action }) => action === 'dynamodb:DeleteItem'));
  });

  it('fails with the error that a test injects, and the SDK tries it again', async () => {
    const seen: string[] = [];
    here.gateway.faults = (call) => {
      seen.push(call.operation);
      return seen.length === 1 ? throttledError(call) : undefined;
    };
    const found = await call('writer', 'dynamodb', 'GetItem', { TableName: 'things', Key: key('a') });
    assert.equal(found.Item.pk.S, 'a');
    assert.deepEqual(seen, ['GetItem', 'GetItem']);
    here.gateway.faults = throttledError;
    const failed = await call('writer', 'dynamodb', 'GetItem', { TableName: 'things', Key: key('a') });
    assert.equal(failed.error, 'ProvisionedThroughputExceededException');
  });

  it('is metered in the units that are billed', async () => {
    const { meter } = here.gateway;
    meter.isOn = true;
    const large = item('large', { colour: { S: 'blue' }, text: { S: 'x'.repeat(1500) } });
    await call('writer', 'dynamodb', 'PutItem', { TableName: 'things', Item: large });
    await call('writer', 'dynamodb', 'PutItem', {
      TableName: 'things',
      Item: large,
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await call('writer', 'dynamodb', 'GetItem', { TableName: 'things', Key: key('large'), ConsistentRead: true });
    await call('writer', 'sqs', 'SendMessage', {
      QueueUrl: laneUrl(),
      MessageBody: 'x'.repeat(65 * 1024),
      MessageGroupId: 'g',
      MessageDeduplicationId: 'large',
    });
    const reading = meter.read();
    const units = Object.fromEntries(
      reading.capacity.map(({ kind, resource, units }) => [`${kind} ${resource}`, units]),
    );
    // Two units for 1.5 KB, and two more for the write that was refused.
    assert.deepEqual(units, { 'write things': 4, 'write things/index/by-colour': 1, 'read things': 1 });
    const sent = reading.calls.find(({ operation }) => operation === 'SendMessage');
    assert.deepEqual([sent?.calls, sent?.billed, sent?.resource], [1, 2, 'lane.fifo']);
    const [writer] = reading.invocations;
    assert.equal(writer?.invocations, 4);
    assert.ok(writer && writer.cpuMs > 0 && writer.cpuMs < writer.durationMs, JSON.stringify(writer));
  });
});
