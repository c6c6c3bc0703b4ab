import { Aws, RemovalPolicy } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';

export const KEY_ACTIONS = [
  'kms:Decrypt',
  'kms:DescribeKey',
  'kms:Encrypt',
  'kms:GenerateDataKey',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
];

/** Retained when the stack is deleted: without the key, the retained data is unreadable. */
export const createCustomerKey = (scope: Construct, stage: string): IKey => {
  const key = new Key(scope, 'Key', {
    alias: `parley-${stage}`,
    description: `Parley ${stage}: table, queues, buckets and logs`,
    enableKeyRotation: true,
    removalPolicy: RemovalPolicy.RETAIN,
  });
  key.grant(
    new ServicePrincipal(`logs.${Aws.REGION}.amazonaws.com`, {
      conditions: {
        ArnLike: {
          'kms:EncryptionContext:aws:logs:arn': `arn:${Aws.PARTITION}:logs:${Aws.REGION}:${Aws.ACCOUNT_ID}:*`,
        },
      },
    }),
    'kms:Encrypt',
    'kms:Decrypt',
    'kms:ReEncryptFrom',
    'kms:ReEncryptTo',
    'kms:GenerateDataKey',
    'kms:DescribeKey',
  );
  return key;
};
