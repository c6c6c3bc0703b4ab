import type { Need } from '../gateway/aws-call.ts';
import type { ResourceGraph } from '../graph.ts';
import { Queue } from '../resources/messaging.ts';
import { Bucket, DynamoTableType } from '../resources/storage.ts';

/** The KMS calls that each service makes on behalf of its caller. */
const KEY_ACTIONS: readonly [action: RegExp, needed: readonly string[]][] = [
  [/^sqs:SendMessage$/, ['kms:GenerateDataKey', 'kms:Decrypt']],
  [/^sqs:ReceiveMessage$/, ['kms:Decrypt']],
  [/^s3:PutObject$/, ['kms:GenerateDataKey']],
  [/^s3:GetObject$/, ['kms:Decrypt']],
  [
    /^dynamodb:.*(Item|Query|Scan)$/,
    ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncryptFrom', 'kms:ReEncryptTo', 'kms:GenerateDataKey', 'kms:DescribeKey'],
  ],
];

export const listKeyPermissions = (plan: ResourceGraph): ((need: Need) => Need[]) => {
  const keys = [
    ...plan.listResources(Queue).map(({ attributes, properties }) => [attributes.Arn, properties.KmsMasterKeyId]),
    ...plan
      .listResources(DynamoTableType)
      .map(({ attributes, properties }) => [attributes.Arn, properties.SSESpecification?.KMSMasterKeyId]),
    ...plan.listResources(Bucket).map(({ attributes, properties }) => {
      const [rule] = properties.BucketEncryption.ServerSideEncryptionConfiguration;
      return [attributes.Arn, rule?.ServerSideEncryptionByDefault.KMSMasterKeyID];
    }),
  ].flatMap(([resource, key]) => (resource !== undefined && key?.startsWith('arn:') ? [{ resource, key }] : []));
  return ({ action, resource }) => {
    const encrypted = keys.find((each) => resource === each.resource || resource.startsWith(`${each.resource}/`));
    if (!encrypted) return [];
    const actions = KEY_ACTIONS.find(([pattern]) => pattern.test(action))?.[1] ?? [];
    return actions.map((keyAction) => ({ action: keyAction, resource: encrypted.key }));
  };
};
