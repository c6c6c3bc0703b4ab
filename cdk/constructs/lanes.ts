import { Duration, Fn } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type LaneName, laneNames, queuePrefix } from '../../shared/aws-config.ts';
import type { Config } from '../../shared/config.ts';
import { FUNCTIONS } from '../functions.ts';
import { fifoQueue, visibilityFor } from './queues.ts';

/**
 * A claim receives, writes and deletes within seconds, and a message that it could not take goes back at once. So a message
 * may be received often without anything being wrong with it.
 */
const LANE_VISIBILITY = Duration.seconds(30);
const LANE_RECEIVES = 1000;

export interface LaneQueue extends LaneName {
  queue: Queue;
}

/** One FIFO queue for each project, domain and priority, and one for the dead letters of each project. */
export class Lanes extends Construct {
  readonly lanes: LaneQueue[];
  readonly deadLetters: Queue[];
  /** What the URL of every lane begins with, taken from a real one, so that no account's form of URL is assumed. */
  readonly urlPrefix: string;
  readonly namePrefix: string;

  constructor(scope: Construct, id: string, props: { config: Config; stage: string; key?: IKey }) {
    super(scope, id);
    this.namePrefix = queuePrefix(props.stage);
    const deadLetters = new Map(
      Object.keys(props.config.projects).map((project) => [
        project,
        fifoQueue(this, `${project}-dead`, props.key, {
          queueName: `${this.namePrefix}${project}-dead.fifo`,
          visibilityTimeout: visibilityFor(FUNCTIONS['dead-letters']),
        }),
      ]),
    );
    this.deadLetters = [...deadLetters.values()];
    this.lanes = laneNames(props.config.projects).map((lane) => {
      const dead = deadLetters.get(lane.project);
      if (dead === undefined) throw new Error(`no dead-letter queue for ${lane.project}`);
      const queue = fifoQueue(this, `${lane.project}-${lane.domain}-${lane.priority}`, props.key, {
        queueName: this.namePrefix + lane.suffix,
        visibilityTimeout: LANE_VISIBILITY,
        deadLetterQueue: { queue: dead, maxReceiveCount: LANE_RECEIVES },
      });
      return { ...lane, queue };
    });
    const [first] = this.lanes;
    if (first === undefined) throw new Error('parley.config.ts has no domain');
    this.urlPrefix = Fn.select(0, Fn.split(first.suffix, first.queue.queueUrl));
  }
}
