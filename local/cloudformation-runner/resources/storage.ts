import { z } from 'zod';
import { buildArn, defineResourceType, getPhysicalName } from '../resource-type.ts';

const noEffectHere = z.unknown().optional();

const KeySchema = z.array(z.strictObject({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));

const Index = z.strictObject({
  IndexName: z.string(),
  KeySchema,
  Projection: z.strictObject({
    ProjectionType: z.enum(['KEYS_ONLY', 'ALL', 'INCLUDE']),
    NonKeyAttributes: z.array(z.string()).optional(),
  }),
  OnDemandThroughput: noEffectHere,
  WarmThroughput: noEffectHere,
  WriteOnDemandThroughputSettings: noEffectHere,
  ReadOnDemandThroughputSettings: noEffectHere,
  ContributorInsightsSpecification: noEffectHere,
});

const tableProperties = {
  TableName: z.string().optional(),
  KeySchema,
  AttributeDefinitions: z.array(z.strictObject({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) })),
  /** Provisioned capacity throttles on AWS and not here, so it is not accepted. */
  BillingMode: z.literal('PAY_PER_REQUEST'),
  GlobalSecondaryIndexes: z.array(Index).default([]),
  StreamSpecification: z.strictObject({ StreamViewType: z.string(), ResourcePolicy: noEffectHere }).optional(),
  TimeToLiveSpecification: z.strictObject({ AttributeName: z.string(), Enabled: z.boolean() }).optional(),
  SSESpecification: z
    .strictObject({
      SSEEnabled: z.boolean(),
      SSEType: z.literal('KMS').optional(),
      KMSMasterKeyId: z.string().optional(),
    })
    .optional(),
  Tags: noEffectHere,
};

const tableAttributes = {
  Arn: buildArn('dynamodb', (name) => `table/${name}`),
  // DynamoDB Local names a stream by its creation time; this name is stable.
  StreamArn: buildArn('dynamodb', (name) => `table/${name}/stream/local`),
};

export const DynamoTableType = defineResourceType(
  'AWS::DynamoDB::Table',
  z.strictObject({
    ...tableProperties,
    DeletionProtectionEnabled: noEffectHere,
    PointInTimeRecoverySpecification: noEffectHere,
    ContributorInsightsSpecification: noEffectHere,
    OnDemandThroughput: noEffectHere,
    WarmThroughput: noEffectHere,
    TableClass: noEffectHere,
  }),
  { nameProperty: 'TableName', attributes: tableAttributes },
);

export const GlobalTable = defineResourceType(
  'AWS::DynamoDB::GlobalTable',
  z.strictObject({
    ...tableProperties,
    WriteOnDemandThroughputSettings: noEffectHere,
    WarmThroughput: noEffectHere,
    Replicas: z
      .array(
        z.strictObject({
          Region: z.string(),
          DeletionProtectionEnabled: noEffectHere,
          PointInTimeRecoverySpecification: noEffectHere,
          ContributorInsightsSpecification: noEffectHere,
          GlobalSecondaryIndexes: noEffectHere,
          ReadOnDemandThroughputSettings: noEffectHere,
          ResourcePolicy: noEffectHere,
          SSESpecification: noEffectHere,
          TableClass: noEffectHere,
          Tags: noEffectHere,
        }),
      )
      .length(1, 'must have one replica to run locally'),
  }),
  { nameProperty: 'TableName', attributes: { ...tableAttributes, TableId: getPhysicalName } },
);

const EncryptionRule = z.strictObject({
  ServerSideEncryptionByDefault: z.strictObject({ SSEAlgorithm: z.string(), KMSMasterKeyID: z.string().optional() }),
  BucketKeyEnabled: noEffectHere,
  BlockedEncryptionTypes: noEffectHere,
});

/** Lifecycle rules do not run here. */
export const Bucket = defineResourceType(
  'AWS::S3::Bucket',
  z.strictObject({
    BucketName: z.string().optional(),
    BucketEncryption: z
      .strictObject({ ServerSideEncryptionConfiguration: z.array(EncryptionRule) })
      .default({ ServerSideEncryptionConfiguration: [] }),
    LifecycleConfiguration: noEffectHere,
    OwnershipControls: noEffectHere,
    PublicAccessBlockConfiguration: noEffectHere,
    VersioningConfiguration: noEffectHere,
    LoggingConfiguration: noEffectHere,
    MetricsConfigurations: noEffectHere,
    AccessControl: noEffectHere,
    Tags: noEffectHere,
  }),
  {
    nameProperty: 'BucketName',
    madeName: (logicalId, site) => `${site.stackName}-${logicalId}`.toLowerCase().slice(0, 63),
    attributes: {
      Arn: ({ name }) => `arn:aws:s3:::${name}`,
      DomainName: ({ name }) => `${name}.s3.amazonaws.com`,
      RegionalDomainName: ({ name, site }) => `${name}.s3.${site.region}.amazonaws.com`,
    },
  },
);
