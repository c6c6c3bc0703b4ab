import { CfnElement, Stack, Validations } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { EventBus } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { CHUNK_PRIORITY } from '../../shared/ports/queue-names.ts';
import type { FunctionAccess } from '../function-specs.ts';
import type { DelayQueue } from './delay-queue.ts';
import { KEY_ACTIONS } from './encryption.ts';
import type { TaskQueue, TaskQueues } from './task-queues.ts';

/** What functions can be given access to. */
export interface FunctionResources {
  table: Table;
  queues: TaskQueues;
  delayQueue: DelayQueue;
  bus: EventBus;
  content: Bucket;
  failures: Bucket;
  key?: IKey;
}

const buildStatements = (
  service: string,
  actions: readonly string[] | undefined,
  resources: string[],
): PolicyStatement[] =>
  actions === undefined
    ? []
    : [new PolicyStatement({ actions: actions.map((action) => `${service}:${action}`), resources })];

/** The objects of one bucket. Below a named resource, this is the only wildcard that a policy here may have. */
export const getObjectsArn = (bucket: Bucket, role: Role): string => {
  const { defaultChild } = bucket.node;
  if (!CfnElement.isCfnElement(defaultChild)) throw new Error(`${bucket.node.path} is no bucket of this stack`);
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${Stack.of(bucket).getLogicalId(defaultChild)}.Arn>/*]`,
    reason: 'Content is named by its hash and failures by Lambda: which objects there will be unknown field.',
  });
  return bucket.arnForObjects('*');
};

/** Whoever may not list a bucket is told 403 for an object that is not there, so that a missing one would look like a missing grant. */
const buildBucketStatements = (
  bucket: Bucket,
  role: Role,
  actions: readonly string[] | undefined,
): PolicyStatement[] =>
  actions === undefined
    ? []
    : [
        ...buildStatements('s3', actions.includes('GetObject') ? ['ListBucket'] : undefined, [bucket.bucketArn]),
        ...buildStatements('s3', actions, [getObjectsArn(bucket, role)]),
      ];

/** A deployment need not have any. */
const buildRelayStatements = (queueKeys: TaskQueue[], actions: readonly string[] | undefined): PolicyStatement[] => {
  const arns = queueKeys.map(({ queue }) => queue.queueArn);
  return arns.length > 0 ? buildStatements('sqs', actions, arns) : [];
};

/** A function's whole policy, action by action and resource by resource. */
export const grantAccess = (role: Role, access: FunctionAccess, to: FunctionResources): void => {
  const statements = [
    ...buildStatements('dynamodb', access.table, [to.table.tableArn]),
    ...buildStatements(
      'dynamodb',
      access.indexes && ['Query'],
      access.indexes?.map((name) => `${to.table.tableArn}/index/${name}`) ?? [],
    ),
    ...buildStatements(
      'sqs',
      access.queues,
      to.queues.domainQueues.map(({ queue }) => queue.queueArn),
    ),
    ...buildRelayStatements(to.queues.relayQueues, access.relayQueues),
    ...buildRelayStatements(
      to.queues.relayQueues.filter(({ priority }) => priority === CHUNK_PRIORITY),
      access.relayChunkQueues,
    ),
    ...buildStatements('sqs', access.delayQueue, [to.delayQueue.queue.queueArn]),
    ...buildStatements('events', access.bus, [to.bus.eventBusArn]),
    ...buildBucketStatements(to.content, role, access.content),
    ...buildBucketStatements(to.failures, role, access.failures),
    ...(to.key ? [new PolicyStatement({ actions: KEY_ACTIONS, resources: [to.key.keyArn] })] : []),
  ];
  for (const statement of statements) role.addToPolicy(statement);
};
