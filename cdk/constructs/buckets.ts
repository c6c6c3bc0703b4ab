import { Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { UNOWNED } from '../../shared/engines/aws/unowned.ts';

export interface BucketProps {
  removal: RemovalPolicy;
  key?: IKey;
}

/** The longest that anybody may take to find out why a record failed. */
const FAILURES_KEPT = Duration.days(90);

/** A change that failed is played back for as long as it is kept, and may name content that nobody owns yet. */
const UNOWNED_KEPT = FAILURES_KEPT.plus(Duration.days(10));

/** As long as the table can be restored to an earlier moment, its content can be too. */
const DELETED_KEPT = Duration.days(35);

const safeBucket = (
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
export const contentBucket = (scope: Construct, props: BucketProps): Bucket =>
  safeBucket(scope, 'Content', props, {
    versioned: true,
    rules: [
      { noncurrentVersionExpiration: DELETED_KEPT, expiredObjectDeleteMarker: true },
      { tagFilters: { [UNOWNED.key]: UNOWNED.value }, expiration: UNOWNED_KEPT },
    ],
  });

/** What the stream's function could not process, whole, until it is played back. */
export const failureBucket = (scope: Construct, props: BucketProps): Bucket =>
  safeBucket(scope, 'Failures', props, { versioned: false, rules: [{ expiration: FAILURES_KEPT }] });
