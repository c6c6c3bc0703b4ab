import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { buildJsonRequest } from '../../local/cloudformation-runner/backends/call-json.ts';
import { below, deployed, getAtt, type SmallDeployment, wholeSuite } from './small-template.ts';

describe('what is encrypted with a customer key', { concurrency: 1 }, () => {
  const owner = wholeSuite();
  let here: SmallDeployment;

  before(async () => {
    const allow = [
      { Action: ['sqs:SendMessage', 'sqs:ReceiveMessage'], Resource: getAtt('Lane') },
      { Action: ['s3:PutObject', 's3:GetObject'], Resource: below('Content', '/*') },
    ];
    const key = (...Action: string[]) => ({ Action, Resource: getAtt('Key') });
    here = await deployed(
      owner,
      {
        both: { code: '', allow: [...allow, key('kms:GenerateDataKey', 'kms:Decrypt')] },
        reader: { code: '', allow: [...allow, key('kms:Decrypt')] },
      },
      {
        Key: { Type: 'AWS::KMS::Key', Properties: { EnableKeyRotation: true } },
        Lane: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'lane', KmsMasterKeyId: getAtt('Key') } },
        Content: {
          Type: 'AWS::S3::Bucket',
          Properties: {
            BucketName: 'content',
            BucketEncryption: {
              ServerSideEncryptionConfiguration: [
                { ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: getAtt('Key') } },
              ],
            },
          },
        },
      },
    );
  });

  const sqs = (caller: string, operation: string, more: object = {}) => {
    const QueueUrl = 'https://sqs.us-east-1.amazonaws.com/000000000000/lane';
    const target = `AmazonSQS.${operation}`;
    return here.gateway.handle(
      buildJsonRequest(here.createAccessKey(caller), 'us-east-1', 'sqs', target, { QueueUrl, ...more }),
    );
  };
  const s3 = (caller: string, method: string) => {
    const { authorization = '' } = buildJsonRequest(here.createAccessKey(caller), 'us-east-1', 's3', '', {}).headers;
    const headers = { authorization, 'content-type': 'text/plain' };
    return here.gateway.handle({ method, path: '/content/a', headers, body: Buffer.from(method === 'PUT' ? 'x' : '') });
  };

  it('can be written by whoever may make data keys with it', async () => {
    assert.equal((await sqs('both', 'SendMessage', { MessageBody: 'x' })).status, 200);
    assert.equal((await s3('both', 'PUT')).status, 200);
  });

  it('can be read, and not written, by whoever may only decrypt', async () => {
    assert.equal((await sqs('reader', 'ReceiveMessage')).status, 200);
    assert.equal((await s3('reader', 'GET')).status, 200);
    for (const refused of [await sqs('reader', 'SendMessage', { MessageBody: 'x' }), await s3('reader', 'PUT')]) {
      assert.equal(refused.status, 403);
      assert.match(
        refused.body.toString(),
        /not authorized to perform: kms:GenerateDataKey on resource: arn:aws:kms:us-east-1:000000000000:key\/Parley-Key /,
      );
    }
  });
});
