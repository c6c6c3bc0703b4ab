import { CfnElement, Stack, Validations } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { EventBus } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { CHUNKS_PRIORITY } from '../../shared/lane-names.ts';
import type { Access } from '../functions.ts';
import type { DelayQueue } from './delay-queue.ts';
import { KEY_ACTIONS } from './encryption.ts';
import type { LaneQueue, Lanes } from './lanes.ts';

/** What functions can be given access to. */
export interface Surroundings {
  table: Table;
  lanes: Lanes;
  delay: DelayQueue;
  bus: EventBus;
  content: Bucket;
  failures: Bucket;
  key?: IKey;
}

const allow = (service: string, actions: readonly string[] | undefined, resources: string[]): PolicyStatement[] =>
  actions === undefined
    ? []
    : [new PolicyStatement({ actions: actions.map((action) => `${service}:${action}`), resources })];

/** The objects of one bucket. Below a named resource, this is the only wildcard that a policy here may have. */
export const objectsOf = (bucket: Bucket, role: Role): string => {
  const { defaultChild } = bucket.node;
  if (!CfnElement.isCfnElement(defaultChild)) throw new Error(`${bucket.node.path} is no bucket of this stack`);
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${Stack.of(bucket).getLogicalId(defaultChild)}.Arn>/*]`,
    reason: 'Content is named by its hash and failures by Lambda: which objects there will be is not known here.',
  });
  return bucket.arnForObjects('*');
};

/** Whoever may not list a bucket is told 403 for an object that is not there, so that a missing one would look like a missing grant. */
const onBucket = (bucket: Bucket, role: Role, actions: readonly string[] | undefined): PolicyStatement[] =>
  actions === undefined
    ? []
    : [
        ...allow('s3', actions.includes('GetObject') ? ['ListBucket'] : undefined, [bucket.bucketArn]),
        ...allow('s3', actions, [objectsOf(bucket, role)]),
      ];

/** A deployment need not have any. */
const onRelays = (lanes: LaneQueue[], actions: readonly string[] | undefined): PolicyStatement[] => {
  const arns = lanes.map(({ queue }) => queue.queueArn);
  return arns.length > 0 ? allow('sqs', actions, arns) : [];
};

/** A function's whole policy, action by action and resource by resource. */
export const grant = (role: Role, access: Access, to: Surroundings): void => {
  const statements = [
    ...allow('dynamodb', access.table, [to.table.tableArn]),
    ...allow(
      'dynamodb',
      access.indexes && ['Query'],
      access.indexes?.map((name) => `${to.table.tableArn}/index/${name}`) ?? [],
    ),
    ...allow(
      'sqs',
      access.lanes,
      to.lanes.lanes.map(({ queue }) => queue.queueArn),
    ),
    ...onRelays(to.lanes.relay, access.relay),
    ...onRelays(
      to.lanes.relay.filter(({ priority }) => priority === CHUNKS_PRIORITY),
      access.relayOfChunks,
    ),
    ...allow('sqs', access.delayQueue, [to.delay.queue.queueArn]),
    ...allow('events', access.bus, [to.bus.eventBusArn]),
    ...onBucket(to.content, role, access.content),
    ...onBucket(to.failures, role, access.failures),
    ...(to.key ? [new PolicyStatement({ actions: KEY_ACTIONS, resources: [to.key.keyArn] })] : []),
  ];
  for (const statement of statements) role.addToPolicy(statement);
};
