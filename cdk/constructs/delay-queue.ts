import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { buildQueuePrefix } from '../../shared/config/aws-config.ts';
import { FUNCTIONS } from '../function-specs.ts';
import { computeVisibility, createQueue } from './queues.ts';

/** Ten receives at six timeouts of `due` each are half an hour. Meanwhile the sweep sends overdue timers again. */
const MAX_RECEIVES = 10;

/** A lost message delays its timer: `due` stays in the record, where the sweep finds it. */
export class DelayQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, { stage, key }: { stage: string; key?: IKey }) {
    super(scope, id);
    this.deadLetters = createQueue(this, 'Dead', key, { queueName: `${buildQueuePrefix(stage)}delay-dead` });
    this.queue = createQueue(this, 'Queue', key, {
      queueName: `${buildQueuePrefix(stage)}delay`,
      visibilityTimeout: computeVisibility(FUNCTIONS.due),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: MAX_RECEIVES },
    });
  }
}
