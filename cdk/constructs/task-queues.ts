import { Duration, Fn } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { buildQueuePrefix } from '../../shared/config/aws-config.ts';
import type { Config } from '../../shared/config/config.ts';
import { listQueues, type NamedQueue } from '../../shared/ports/queue-names.ts';
import { FUNCTIONS } from '../function-specs.ts';
import { computeVisibility, createFifoQueue } from './queues.ts';

/** A claim takes seconds and returns refused messages at once, so a high receive count is no sign of a fault. */
const QUEUE_VISIBILITY = Duration.seconds(30);
const MAX_RECEIVES = 1000;

export interface TaskQueue extends NamedQueue {
  queue: Queue;
}

export class TaskQueues extends Construct {
  readonly domainQueues: TaskQueue[];
  readonly relayQueues: TaskQueue[];
  readonly deadLetters: Queue[];
  readonly relayDeadLetters: Queue[];
  /** Taken from a real URL, so that no form of URL is assumed. */
  readonly urlPrefix: string;
  readonly namePrefix: string;

  constructor(scope: Construct, id: string, props: { config: Config; stage: string; key?: IKey }) {
    super(scope, id);
    this.namePrefix = buildQueuePrefix(props.stage);
    const { projects } = props.config;
    const createDeadLetterQueue = (name: string, visibilityTimeout?: Duration): Queue =>
      createFifoQueue(this, name, props.key, { queueName: `${this.namePrefix}${name}.fifo`, visibilityTimeout });
    const ofDomains = new Map(
      Object.keys(projects).map((project) => [
        project,
        createDeadLetterQueue(`${project}-dead`, computeVisibility(FUNCTIONS['dead-letters'])),
      ]),
    );
    // Without a consumer: a task's timer requeues it, and an operator moves the rest back.
    const ofRelays = new Map(
      Object.keys(projects)
        .filter((project) => projects[project]?.relay)
        .map((project) => [project, createDeadLetterQueue(`${project}_relay-dead`)]),
    );
    this.deadLetters = [...ofDomains.values()];
    this.relayDeadLetters = [...ofRelays.values()];
    const createTaskQueue = (queueKey: NamedQueue): TaskQueue => {
      const dead = (queueKey.kind === 'relay' ? ofRelays : ofDomains).get(queueKey.project);
      if (dead === undefined) throw new Error(`no dead-letter queue for ${queueKey.suffix}`);
      const queue = createFifoQueue(this, queueKey.suffix.replace('.fifo', ''), props.key, {
        queueName: this.namePrefix + queueKey.suffix,
        visibilityTimeout: QUEUE_VISIBILITY,
        deadLetterQueue: { queue: dead, maxReceiveCount: MAX_RECEIVES },
      });
      return { ...queueKey, queue };
    };
    const queueKeys = listQueues(projects).map(createTaskQueue);
    this.domainQueues = queueKeys.filter(({ kind }) => kind === 'domain');
    this.relayQueues = queueKeys.filter(({ kind }) => kind === 'relay');
    const [first] = this.domainQueues;
    if (first === undefined) throw new Error('parley.config.ts has no domain');
    this.urlPrefix = Fn.select(0, Fn.split(first.suffix, first.queue.queueUrl));
  }
}
