import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { FUNCTION_NAMES } from '../../cdk/function-specs.ts';
import { LISTED_FIELDS } from '../../shared/effects/record-definitions.ts';
import { Reference, synthesized } from './synthesized.ts';

const KeySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.string() }));
const Table = z.object({
  BillingMode: z.string(),
  KeySchema,
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })),
  GlobalSecondaryIndexes: z.array(
    z.object({
      IndexName: z.string(),
      KeySchema,
      Projection: z.object({ ProjectionType: z.string(), NonKeyAttributes: z.array(z.string()).optional() }),
    }),
  ),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }),
  StreamSpecification: z.object({ StreamViewType: z.string() }),
  PointInTimeRecoverySpecification: z.object({ PointInTimeRecoveryEnabled: z.boolean() }),
  DeletionProtectionEnabled: z.boolean(),
  SSESpecification: z.object({ KMSMasterKeyId: Reference }).optional(),
});
const Bucket = z.object({
  PublicAccessBlockConfiguration: z.record(z.string(), z.boolean()),
  BucketEncryption: z.object({
    ServerSideEncryptionConfiguration: z.tuple([
      z.object({
        ServerSideEncryptionByDefault: z.object({ SSEAlgorithm: z.string(), KMSMasterKeyID: Reference.optional() }),
      }),
    ]),
  }),
});
const usual = synthesized();
const [table] = usual.all('AWS::DynamoDB::Table', Table);
assert.ok(table);

describe('the table', () => {
  it('has the keys and indexes that the engine writes, with keys only but for what lists filter by and never changes', () => {
    const types = new Map(table.properties.AttributeDefinitions.map((of) => [of.AttributeName, of.AttributeType]));
    const keys = (schema: z.output<typeof KeySchema>) =>
      schema.map(({ AttributeName, KeyType }) => `${KeyType} ${AttributeName} ${types.get(AttributeName)}`);
    assert.deepEqual(keys(table.properties.KeySchema), ['HASH pk S', 'RANGE sk S']);
    assert.deepEqual(
      Object.fromEntries(
        table.properties.GlobalSecondaryIndexes.map((index) => [index.IndexName, keys(index.KeySchema)]),
      ),
      {
        byList: ['HASH byListPk S', 'RANGE byListSk S'],
        byHolder: ['HASH byHolderPk S', 'RANGE byHolderSk S'],
        byCreation: ['HASH lp S', 'RANGE ls S'],
        due: ['HASH dueShard S', 'RANGE due N'],
      },
    );
    for (const { IndexName, Projection } of table.properties.GlobalSecondaryIndexes) {
      const expected =
        IndexName === 'byCreation'
          ? { ProjectionType: 'INCLUDE', NonKeyAttributes: [...LISTED_FIELDS] }
          : { ProjectionType: 'KEYS_ONLY' };
      assert.deepEqual(Projection, expected);
    }
  });

  it('costs nothing when idle, forgets by `ttl`, and tells both sides of every change', () => {
    assert.equal(table.properties.BillingMode, 'PAY_PER_REQUEST');
    assert.deepEqual(table.properties.TimeToLiveSpecification, { AttributeName: 'ttl', Enabled: true });
    assert.equal(table.properties.StreamSpecification.StreamViewType, 'NEW_AND_OLD_IMAGES');
  });

  it('takes no more units than the configuration allows, in each of its indexes', () => {
    const Units = z.object({ MaxReadRequestUnits: z.number(), MaxWriteRequestUnits: z.number() }).optional();
    const Throughput = z.object({
      OnDemandThroughput: Units,
      GlobalSecondaryIndexes: z.array(z.object({ OnDemandThroughput: Units })),
    });
    const unitsOf = (aws: Parameters<typeof synthesized>[0]) =>
      synthesized(aws)
        .all('AWS::DynamoDB::Table', Throughput)
        .flatMap(({ properties }) => [properties, ...properties.GlobalSecondaryIndexes])
        .map(({ OnDemandThroughput }) => OnDemandThroughput);
    const bounded = unitsOf({ maxTableUnits: { reads: 300, writes: 200 } });
    assert.ok(bounded.length > 1);
    for (const units of bounded) assert.deepEqual(units, { MaxReadRequestUnits: 300, MaxWriteRequestUnits: 200 });
    for (const units of unitsOf({})) assert.equal(units, undefined);
  });

  it('is as warm as the configuration says, in each of its indexes', () => {
    const Warm = z.object({ ReadUnitsPerSecond: z.number(), WriteUnitsPerSecond: z.number() }).optional();
    const Throughput = z.object({
      WarmThroughput: Warm,
      GlobalSecondaryIndexes: z.array(z.object({ WarmThroughput: Warm })),
    });
    const warmthOf = (aws: Parameters<typeof synthesized>[0]) =>
      synthesized(aws)
        .all('AWS::DynamoDB::Table', Throughput)
        .flatMap(({ properties }) => [properties, ...properties.GlobalSecondaryIndexes])
        .map(({ WarmThroughput }) => WarmThroughput);
    const warm = warmthOf({ warmThroughput: { reads: 40_000, writes: 20_000 } });
    assert.ok(warm.length > 1);
    for (const units of warm) assert.deepEqual(units, { ReadUnitsPerSecond: 40_000, WriteUnitsPerSecond: 20_000 });
    for (const units of warmthOf({})) assert.equal(units, undefined);
  });

  it('can be restored, and is protected from deletion', () => {
    assert.equal(table.properties.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled, true);
    assert.equal(table.properties.DeletionProtectionEnabled, true);
  });
});

describe('the buckets', () => {
  const buckets = usual.all('AWS::S3::Bucket', Bucket);

  it('are closed to the public and encrypted', () => {
    assert.equal(buckets.length, 2);
    for (const { properties } of buckets) {
      assert.deepEqual(properties.PublicAccessBlockConfiguration, {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      });
      const [{ ServerSideEncryptionByDefault }] = properties.BucketEncryption.ServerSideEncryptionConfiguration;
      assert.equal(ServerSideEncryptionByDefault.SSEAlgorithm, 'AES256');
    }
  });

  it('keep deleted content for as long as the table can be restored, what no record owns longer than failures, and no upload that was broken off', () => {
    const Kept = z.object({
      VersioningConfiguration: z.unknown().optional(),
      LifecycleConfiguration: z.object({ Rules: z.array(z.record(z.string(), z.unknown())) }),
    });
    const abort = { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: 'Enabled' };
    const kept = usual.all('AWS::S3::Bucket', Kept).map(({ id, properties }) => ({
      name: id.replace(/[0-9A-F]{8}$/, ''),
      versions: properties.VersioningConfiguration,
      rules: properties.LifecycleConfiguration.Rules,
    }));
    assert.deepEqual(kept, [
      {
        name: 'Content',
        versions: { Status: 'Enabled' },
        rules: [
          { ...abort, NoncurrentVersionExpiration: { NoncurrentDays: 35 }, ExpiredObjectDeleteMarker: true },
          { ExpirationInDays: 100, Status: 'Enabled', TagFilters: [{ Key: 'unowned', Value: 'true' }] },
        ],
      },
      { name: 'Failures', versions: undefined, rules: [{ ...abort, ExpirationInDays: 90 }] },
    ]);
  });

  it('refuse whoever comes without TLS', () => {
    const Statement = z.object({
      Effect: z.string(),
      Action: z.string(),
      Condition: z.record(z.string(), z.unknown()),
    });
    const policies = usual.all(
      'AWS::S3::BucketPolicy',
      z.object({ Bucket: Reference, PolicyDocument: z.object({ Statement: z.array(Statement) }) }),
    );
    assert.deepEqual(policies.map(({ properties }) => properties.Bucket).sort(), buckets.map(({ id }) => id).sort());
    for (const { properties } of policies) {
      const [plain] = properties.PolicyDocument.Statement;
      assert.deepEqual(plain, {
        Effect: 'Deny',
        Action: 's3:*',
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      });
    }
  });
});

describe('what is removed with the stack', () => {
  const policies = ({ all }: typeof usual) =>
    [...all('AWS::DynamoDB::Table', z.unknown()), ...all('AWS::S3::Bucket', z.unknown())].map(
      (of) => of.deletionPolicy,
    );

  it('is not the table and the buckets, unless the configuration says so', () => {
    assert.deepEqual(policies(usual), ['Retain', 'Retain', 'Retain']);
    const passing = synthesized({ removal: 'destroy' });
    assert.deepEqual(policies(passing), ['Delete', 'Delete', 'Delete']);
    assert.equal(passing.all('AWS::DynamoDB::Table', Table)[0]?.properties.DeletionProtectionEnabled, false);
  });
});

describe('a customer key', () => {
  const { all } = synthesized({ customerKey: true });
  const [key] = all('AWS::KMS::Key', z.object({ EnableKeyRotation: z.boolean() }));

  it('is not made unless it is asked for', () => {
    assert.deepEqual(usual.all('AWS::KMS::Key', z.unknown()), []);
  });

  it('encrypts the table, every queue, every bucket and every log group, and turns each year', () => {
    assert.equal(key?.properties.EnableKeyRotation, true);
    const used = [
      ...all('AWS::DynamoDB::Table', Table).map(({ properties }) => properties.SSESpecification?.KMSMasterKeyId),
      ...all('AWS::SQS::Queue', z.object({ KmsMasterKeyId: Reference })).map(
        ({ properties }) => properties.KmsMasterKeyId,
      ),
      ...all('AWS::Logs::LogGroup', z.object({ KmsKeyId: Reference })).map(({ properties }) => properties.KmsKeyId),
      ...all('AWS::S3::Bucket', Bucket).map(({ properties }) => {
        const [{ ServerSideEncryptionByDefault }] = properties.BucketEncryption.ServerSideEncryptionConfiguration;
        return ServerSideEncryptionByDefault.KMSMasterKeyID;
      }),
    ];
    assert.equal(used.length, 1 + (12 + 4 + 3 + 2) + (FUNCTION_NAMES.length + 1) + 2);
    for (const id of used) assert.equal(id, key?.id);
  });

  it('may be used by every function, and is kept when the stack goes', () => {
    const Statement = z.object({ Action: z.union([z.string(), z.array(z.string())]), Resource: z.unknown() });
    const policies = all('AWS::IAM::Policy', z.object({ PolicyDocument: z.object({ Statement: z.array(Statement) }) }));
    assert.equal(policies.length, FUNCTION_NAMES.length);
    for (const { id, properties } of policies) {
      const onKey = properties.PolicyDocument.Statement.filter(({ Action }) => Action.includes('kms:Decrypt'));
      assert.deepEqual(
        onKey.map(({ Resource }) => Reference.parse(Resource)),
        [key?.id],
        id,
      );
    }
    assert.equal(key?.deletionPolicy, 'Retain');
  });
});
