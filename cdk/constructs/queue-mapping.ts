import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { ParleyFunction } from './parley-function.ts';

/** The maximum of a FIFO queue. */
const BATCH_SIZE = 10;

/** With partial batch responses, only the messages reported as failed are delivered again. */
export const addQueueMapping = (
  reader: ParleyFunction,
  queue: Queue,
  { enabled, atOnce }: { enabled: boolean; atOnce: number },
): void => {
  reader.role.addToPolicy(
    new PolicyStatement({
      actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
      resources: [queue.queueArn],
    }),
  );
  new EventSourceMapping(reader, `From-${queue.node.path}`, {
    target: reader.lambda,
    eventSourceArn: queue.queueArn,
    batchSize: BATCH_SIZE,
    reportBatchItemFailures: true,
    maxConcurrency: atOnce,
    enabled,
  });
};
