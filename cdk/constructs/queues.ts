import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

const RETENTION = Duration.days(14);

export const createQueue = (scope: Construct, id: string, key: IKey | undefined, props: QueueProps): Queue =>
  new Queue(scope, id, {
    enforceSSL: true,
    retentionPeriod: RETENTION,
    // Without data key reuse, one KMS call per request would cost more than SQS itself.
    ...(key
      ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key, dataKeyReuse: Duration.hours(1) }
      : { encryption: QueueEncryption.SQS_MANAGED }),
    ...props,
  });

export const createFifoQueue = (scope: Construct, id: string, key: IKey | undefined, props: QueueProps): Queue =>
  createQueue(scope, id, key, {
    fifo: true,
    deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
    fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
    ...props,
  });

/** AWS recommends six times the function timeout; with less, a slow batch is delivered twice. */
export const computeVisibility = (spec: { timeoutS: number }): Duration => Duration.seconds(6 * spec.timeoutS);
