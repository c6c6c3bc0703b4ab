import { Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { UNRETAINED_TAG } from '../../shared/engines/aws/unretained-tag.ts';

export interface BucketProps {
  removal: RemovalPolicy;
  key?: IKey;
}

/** The longest that anybody may take to find out why a record failed. */
const FAILURE_RETENTION = Duration.days(90);

/** A change that failed is played back for as long as it is kept, and may name content that nobody owns yet. */
const UNRETAINED_RETENTION = FAILURE_RETENTION.plus(Duration.days(10));

/** As long as the table can be restored to an earlier moment, its content can be too. */
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

/** Content that is too large for a record. It is deleted when its record goes, or if none ever owned it, and is really gone some weeks later. */
export const createContentBucket = (scope: Construct, props: BucketProps): Bucket =>
  createBucket(scope, 'Content', props, {
    versioned: true,
    rules: [
      { noncurrentVersionExpiration: DELETED_RETENTION, expiredObjectDeleteMarker: true },
      { tagFilters: { [UNRETAINED_TAG.key]: UNRETAINED_TAG.value }, expiration: UNRETAINED_RETENTION },
    ],
  });

/** What the stream's function could not process, whole, until it is played back. */
export const createFailureBucket = (scope: Construct, props: BucketProps): Bucket =>
  createBucket(scope, 'Failures', props, { versioned: false, rules: [{ expiration: FAILURE_RETENTION }] });
