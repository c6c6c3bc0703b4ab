import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';

const RETENTION = Duration.days(14);

/** What every queue has: encryption, and no way in but TLS. */
export const createQueue = (scope: Construct, id: string, key: IKey | undefined, props: QueueProps): Queue =>
  new Queue(scope, id, {
    enforceSSL: true,
    retentionPeriod: RETENTION,
    // A data key for each call of each queue would cost more than the queues do.
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

/** What a mapping reads must stay hidden for six times the function's timeout, or a slow batch is given out twice. */
export const computeVisibility = (spec: { timeoutS: number }): Duration => Duration.seconds(6 * spec.timeoutS);
