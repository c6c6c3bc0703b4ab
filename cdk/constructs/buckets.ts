import { Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';

export interface BucketProps {
  removal: RemovalPolicy;
  key?: IKey;
}

/** The longest that anybody may take to find out why a record failed. */
const FAILURES_KEPT = Duration.days(90);

const safeBucket = (scope: Construct, id: string, { removal, key }: BucketProps, rule: LifecycleRule): Bucket => {
  const bucket = new Bucket(scope, id, {
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    ...(key
      ? { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    lifecycleRules: [{ abortIncompleteMultipartUploadAfter: Duration.days(1), ...rule }],
    removalPolicy: removal,
  });
  Validations.of(bucket).acknowledge({
    id: 'AwsSolutions-S1',
    reason:
      'Only functions of this stack reach the bucket, and they log what they do; an access log would be a third bucket.',
  });
  return bucket;
};

/** Content that is too large for a record. It goes when its record goes. */
export const contentBucket = (scope: Construct, props: BucketProps): Bucket => safeBucket(scope, 'Content', props, {});

/** What the stream's function could not process, whole, until it is played back. */
export const failureBucket = (scope: Construct, props: BucketProps): Bucket =>
  safeBucket(scope, 'Failures', props, { expiration: FAILURES_KEPT });
