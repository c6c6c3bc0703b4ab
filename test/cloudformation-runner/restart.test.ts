import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { buildJsonRequest, parseJsonResponse } from '../../local/cloudformation-runner/backends/call-json.ts';
import { startDynamoDbLocal } from '../../local/cloudformation-runner/backends/dynamodb-local.ts';
import { below, deployed, getAtt, ref, type SmallDeployment, TABLE, tempFolder, wholeSuite } from './small-template.ts';
import { TELL, witnessFor } from './witness.ts';

const READ = ['dynamodb:GetRecords', 'dynamodb:GetShardIterator', 'dynamodb:DescribeStream', 'dynamodb:ListStreams'];

const OTHERS = {
  ...TABLE,
  Lane: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'lane', VisibilityTimeout: 0 } },
  Fast: {
    Type: 'AWS::SQS::Queue',
    Properties: {
      QueueName: 'fast.fifo',
      FifoQueue: true,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      RedrivePolicy: { deadLetterTargetArn: getAtt('Lane'), maxReceiveCount: 5 },
    },
  },
  Content: { Type: 'AWS::S3::Bucket', Properties: { BucketName: 'content' } },
  Mapping: {
    Type: 'AWS::Lambda::EventSourceMapping',
    Properties: {
      FunctionName: ref('reader'),
      EventSourceArn: getAtt('Table', 'StreamArn'),
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 1,
    },
  },
};

describe('a second start', () => {
  const owner = wholeSuite();

  it('finds items, messages and objects, and goes on in the stream where the first one was', async (t) => {
    const witness = await witnessFor(owner);
    const dir = tempFolder(owner);
    const start = (code: string) =>
      deployed(
        t,
        {
          reader: {
            code,
            env: { WITNESS: witness.address },
            allow: [{ Action: READ, Resource: getAtt('Table', 'StreamArn') }],
          },
          user: {
            code: '',
            allow: [
              { Action: ['dynamodb:PutItem', 'dynamodb:GetItem'], Resource: getAtt('Table') },
              { Action: ['sqs:SendMessage', 'sqs:ReceiveMessage'], Resource: getAtt('Lane') },
              { Action: ['s3:PutObject', 's3:GetObject'], Resource: below('Content', '/*') },
            ],
          },
        },
        OTHERS,
        { dir },
      );
    const call = async (here: SmallDeployment, service: string, target: string, body: object): Promise<unknown> => {
      const request = buildJsonRequest(here.createAccessKey('user'), 'us-east-1', service, target, body);
      return parseJsonResponse(target, await here.gateway.handle(request));
    };
    const object = (here: SmallDeployment, method: string, body = '') => {
      const { authorization = '' } = buildJsonRequest(here.createAccessKey('user'), 'us-east-1', 's3', '', {}).headers;
      const headers = { authorization, 'content-type': 'text/plain' };
      return here.gateway.handle({ method, path: '/content/a/b', headers, body: Buffer.from(body) });
    };
    const Key = { pk: { S: 'first' }, sk: { S: 'x' } };
    const QueueUrl = 'https://sqs.us-east-1.amazonaws.com/000000000000/lane';

    // It can do nothing with the second record, which must therefore come again.
    const first = await start(`${TELL}
      export const handler = async ({ Records: [{ dynamodb }] }) => {
        await tell(['first start', dynamodb.Keys.pk.S]);
        if (dynamodb.Keys.pk.S === 'second') throw new Error('not yet');
      };`);
    await call(first, 'dynamodb', 'DynamoDB_20120810.PutItem', { TableName: 'things', Item: Key });
    const second = { pk: { S: 'second' }, sk: { S: 'x' } };
    await call(first, 'dynamodb', 'DynamoDB_20120810.PutItem', { TableName: 'things', Item: second });
    await call(first, 'sqs', 'AmazonSQS.SendMessage', { QueueUrl, MessageBody: 'still here' });
    assert.equal((await object(first, 'PUT', 'content')).status, 200);
    await witness.until(() => witness.heard.some(([, key]) => key === 'second'));
    await first.stop();
    witness.heard.length = 0;

    const again = await start(`${TELL}
      export const handler = ({ Records: [{ dynamodb }] }) => tell(['second start', dynamodb.Keys.pk.S]).then(() => {});`);
    const found = await call(again, 'dynamodb', 'DynamoDB_20120810.GetItem', { TableName: 'things', Key });
    assert.deepEqual(found, { Item: Key });
    const received = await call(again, 'sqs', 'AmazonSQS.ReceiveMessage', { QueueUrl });
    assert.match(JSON.stringify(received), /"Body":"still here"/);
    assert.equal((await object(again, 'GET')).body.toString(), 'content');
    await witness.until(() => witness.heard.length > 0);
    assert.deepEqual(witness.heard, [['second start', 'second']]);
  });

  it('reads the stream of a table that was made anew in the meantime from its first record', async (t) => {
    const witness = await witnessFor(owner);
    const dir = tempFolder(owner);
    const { Table, Mapping } = OTHERS;
    const start = () =>
      deployed(
        t,
        {
          reader: {
            code: `${TELL}
              export const handler = ({ Records: [{ dynamodb }] }) => tell(dynamodb.Keys.pk.S).then(() => {});`,
            env: { WITNESS: witness.address },
            allow: [{ Action: READ, Resource: getAtt('Table', 'StreamArn') }],
          },
          user: { code: '', allow: [{ Action: ['dynamodb:PutItem'], Resource: getAtt('Table') }] },
        },
        { Table, Mapping },
        { dir },
      );
    const itemOf = (pk: string) => ({ TableName: 'things', Item: { pk: { S: pk }, sk: { S: 'x' } } });
    const put = async (here: SmallDeployment, pk: string): Promise<unknown> => {
      const target = 'DynamoDB_20120810.PutItem';
      const request = buildJsonRequest(here.createAccessKey('user'), 'us-east-1', 'dynamodb', target, itemOf(pk));
      return parseJsonResponse(target, await here.gateway.handle(request));
    };
    const first = await start();
    await put(first, 'before');
    await witness.until(() => witness.heard.length === 1);
    await first.stop();

    const dynamodb = await startDynamoDbLocal(join(dir, 'dynamodb'), 'us-east-1');
    const call = (operation: string, body: object) => dynamodb.call(`DynamoDB_20120810.${operation}`, body);
    const { StreamSpecification: stream, ...properties } = Table.Properties;
    await call('DeleteTable', { TableName: 'things' });
    await call('CreateTable', properties);
    for (const pk of ['restored-1', 'restored-2', 'restored-3']) await call('PutItem', itemOf(pk));
    await call('UpdateTable', { TableName: 'things', StreamSpecification: { StreamEnabled: true, ...stream } });
    await dynamodb.stop();
    witness.heard.length = 0;

    const again = await start();
    const later = ['first', 'second', 'third', 'fourth', 'fifth'];
    for (const pk of later) await put(again, pk);
    await witness.until(() => witness.heard.length === later.length);
    // Between records there is no order.
    assert.deepEqual(witness.heard.toSorted(), later.toSorted());
    assert.deepEqual(again.trouble, []);
  });
});
