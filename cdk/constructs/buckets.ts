import { Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { UNRETAINED_TAG } from '../../shared/engines/aws/unretained-tag.ts';

export interface BucketProps {
  removal: RemovalPolicy;
  key?: IKey;
}

const FAILURE_RETENTION = Duration.days(90);

/**
 * A replayed change may refer to content that no record retains yet, so that content outlives the failure records by
 * ten days.
 */
const UNRETAINED_RETENTION = FAILURE_RETENTION.plus(Duration.days(10));

/** DynamoDB's point-in-time recovery reaches 35 days back; the content must reach as far. */
const DELETED_RETENTION = Duration.days(35);

const createBucket = (
  scope: Construct,
  id: string,
  { removal, key }: BucketProps,
  { versioned, rules: [rule, ...further] }: { versioned: boolean; rules: [LifecycleRule, ...LifecycleRule[]] },
): Bucket => {
  const bucket = new Bucket(scope, id, {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    ...(key
      ? { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    lifecycleRules: [{ abortIncompleteMultipartUploadAfter: Duration.days(1), ...rule }, ...further],
    versioned,
    removalPolicy: removal,
  });
  Validations.of(bucket).acknowledge({
    id: 'AwsSolutions-S1',
    reason:
      'Only functions of this stack reach the bucket, and they log what they do; an access log would be a third bucket.',
  });
  return bucket;
};

export const createContentBucket = (scope: Construct, props: BucketProps): Bucket =>
  createBucket(scope, 'Content', props, {
    versioned: true,
    rules: [
      { noncurrentVersionExpiration: DELETED_RETENTION, expiredObjectDeleteMarker: true },
      { tagFilters: { [UNRETAINED_TAG.key]: UNRETAINED_TAG.value }, expiration: UNRETAINED_RETENTION },
    ],
  });

export const createFailureBucket = (scope: Construct, props: BucketProps): Bucket =>
  createBucket(scope, 'Failures', props, { versioned: false, rules: [{ expiration: FAILURE_RETENTION }] });
