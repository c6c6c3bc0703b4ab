import { Duration, Validations } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { buildQueuePrefix } from '../../shared/config/aws-config.ts';
import { createQueue } from './queues.ts';

/** What was rung is forgotten before it is shown again: the waiter deletes nothing, which would cost as much as the rest. */
const RETENTION = Duration.minutes(1);
const VISIBILITY = Duration.minutes(5);

export const createWakeQueue = (scope: Construct, stage: string, key: IKey | undefined): Queue => {
  const queue = createQueue(scope, 'Wake', key, {
    queueName: `${buildQueuePrefix(stage)}wake`,
    retentionPeriod: RETENTION,
    visibilityTimeout: VISIBILITY,
  });
  Validations.of(queue).acknowledge({
    id: 'AwsSolutions-SQS3',
    reason: 'A ring is worth nothing a minute later: whoever waits looks by itself.',
  });
  return queue;
};
