import { Aws, Duration, Fn, NestedStack } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type IQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { buildQueuePrefix, MAX_QUEUES_NAMED } from '../../shared/config/aws-config.ts';
import type { Config } from '../../shared/config/config.ts';
import { listQueues, type NamedQueue } from '../../shared/ports/queue-names.ts';
import { FUNCTIONS } from '../function-specs.ts';
import { computeVisibility, createFifoQueue } from './queues.ts';

/** A claim takes seconds and returns refused messages at once, so a high receive count is no sign of a fault. */
const QUEUE_VISIBILITY = Duration.seconds(30);
const MAX_RECEIVES = 1000;

/**
 * Each queue and its policy are two of the 500 resources of a stack, which has others. The first ones are in the stack
 * itself, so that a domain which is appended moves no queue: CloudFormation would make the name twice.
 */
const MAX_QUEUES_IN_STACK = 60;
const MAX_QUEUES_IN_NESTED_STACK = 200;

export interface TaskQueue extends NamedQueue {
  queue: IQueue;
}

export class TaskQueues extends Construct {
  readonly domainQueues: TaskQueue[];
  readonly relayQueues: TaskQueue[];
  readonly deadLetters: Queue[];
  readonly relayDeadLetters: Queue[];
  /** Taken from a real URL, so that no form of URL is assumed. */
  readonly urlPrefix: string;
  readonly namePrefix: string;
  /** There are too many for policies that name each. */
  readonly hasPatterns: boolean;

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
    const named = listQueues(projects);
    this.hasPatterns = named.length > MAX_QUEUES_NAMED;
    const nested = new Map<number, NestedStack>();
    const findScope = (at: number): Construct => {
      if (at < MAX_QUEUES_IN_STACK) return this;
      const part = Math.floor((at - MAX_QUEUES_IN_STACK) / MAX_QUEUES_IN_NESTED_STACK);
      const stack = nested.get(part) ?? new NestedStack(this, `Part${part}`);
      nested.set(part, stack);
      return stack;
    };
    const createTaskQueue = (queueKey: NamedQueue, at: number): TaskQueue => {
      const dead = (queueKey.kind === 'relay' ? ofRelays : ofDomains).get(queueKey.project);
      if (dead === undefined) throw new Error(`no dead-letter queue for ${queueKey.suffix}`);
      const queue = createFifoQueue(findScope(at), queueKey.suffix.replace('.fifo', ''), props.key, {
        queueName: this.namePrefix + queueKey.suffix,
        visibilityTimeout: QUEUE_VISIBILITY,
        deadLetterQueue: { queue: dead, maxReceiveCount: MAX_RECEIVES },
      });
      return { ...queueKey, queue: at < MAX_QUEUES_IN_STACK ? queue : this.#referTo(queueKey) };
    };
    const queueKeys = named.map(createTaskQueue);
    this.domainQueues = queueKeys.filter(({ kind }) => kind === 'domain');
    this.relayQueues = queueKeys.filter(({ kind }) => kind === 'relay');
    const [first] = this.domainQueues;
    if (first === undefined) throw new Error('parley.config.ts has no domain');
    this.urlPrefix = Fn.select(0, Fn.split(first.suffix, first.queue.queueUrl));
  }

  /** By its name: a nested stack has 200 outputs at most. */
  #referTo({ suffix }: NamedQueue): IQueue {
    return Queue.fromQueueArn(this, `${suffix}-in-part`, this.#toArn(suffix));
  }

  #toArn(suffix: string): string {
    return `arn:${Aws.PARTITION}:sqs:${Aws.REGION}:${Aws.ACCOUNT_ID}:${this.namePrefix}${suffix}`;
  }

  /** As policies name the queues of domains: those of relays have another name, and dead letters another end. */
  listDomainArns(): string[] {
    const arns = this.hasPatterns
      ? this.domainQueues.map(({ project, priority }) => this.#toArn(`${project}-*-${priority}.fifo`))
      : this.domainQueues.map(({ queue }) => queue.queueArn);
    return [...new Set(arns)];
  }
}
