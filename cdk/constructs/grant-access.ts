import { CfnElement, type RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { CHUNK_PRIORITY } from '../../shared/ports/queue-names.ts';
import type { FunctionAccess } from '../function-specs.ts';
import type { DelayQueue } from './delay-queue.ts';
import { KEY_ACTIONS } from './encryption.ts';
import type { ProjectBus } from './event-bus.ts';
import type { TaskQueue, TaskQueues } from './task-queues.ts';

export interface FunctionResources {
  table: Table;
  queues: TaskQueues;
  delayQueue: DelayQueue;
  buses: ProjectBus[];
  content: Bucket;
  failures: Bucket;
  /** Of a stack with a waiter: whoever writes rings there. */
  wakeQueue?: Queue;
  key?: IKey;
  /** Logs say who did what, so they are kept as long as the data. */
  logRemoval: RemovalPolicy;
}

/** A policy has 10,240 characters, which is about 70 queues. */
const getDomainQueueArns = (queues: TaskQueues, role: Role): string[] => {
  const arns = queues.listDomainArns();
  for (const arn of queues.hasPatterns ? arns : []) {
    Validations.of(role).acknowledge({
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:${arn.split(':').at(-1)}]`,
      reason: 'There are more queues than a policy can name: each pattern is a priority of all domains of a project.',
    });
  }
  return arns;
};

const buildStatements = (
  service: string,
  actions: readonly string[] | undefined,
  resources: string[],
): PolicyStatement[] =>
  actions === undefined
    ? []
    : [new PolicyStatement({ actions: actions.map((action) => `${service}:${action}`), resources })];

/** The only wildcard that a policy may have below a named resource. */
export const getObjectsArn = (bucket: Bucket, role: Role): string => {
  const { defaultChild } = bucket.node;
  if (!CfnElement.isCfnElement(defaultChild)) throw new Error(`${bucket.node.path} is no bucket of this stack`);
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::<${Stack.of(bucket).getLogicalId(defaultChild)}.Arn>/*]`,
    reason: 'Content is named by its hash and failures by Lambda: which objects there will be unknown field.',
  });
  return bucket.arnForObjects('*');
};

/** Without ListBucket, S3 answers 403 for a missing object, which looks like a missing grant. */
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

const buildRelayStatements = (queueKeys: TaskQueue[], actions: readonly string[] | undefined): PolicyStatement[] => {
  const arns = queueKeys.map(({ queue }) => queue.queueArn);
  return arns.length > 0 ? buildStatements('sqs', actions, arns) : [];
};

const writesItems = ({ table = [], queues = [] }: FunctionAccess): boolean =>
  table.includes('PutItem') || queues.includes('SendMessage');

export const grantAccess = (role: Role, access: FunctionAccess, to: FunctionResources): void => {
  const statements = [
    ...buildStatements('dynamodb', access.table, [to.table.tableArn]),
    ...buildStatements(
      'dynamodb',
      access.indexes && ['Query'],
      access.indexes?.map((name) => `${to.table.tableArn}/index/${name}`) ?? [],
    ),
    ...buildStatements('sqs', access.queues, getDomainQueueArns(to.queues, role)),
    ...buildRelayStatements(to.queues.relayQueues, access.relayQueues),
    ...buildRelayStatements(
      to.queues.relayQueues.filter(({ priority }) => priority === CHUNK_PRIORITY),
      access.relayChunkQueues,
    ),
    ...buildStatements('sqs', access.delayQueue, [to.delayQueue.queue.queueArn]),
    ...(to.wakeQueue && writesItems(access) ? buildStatements('sqs', ['SendMessage'], [to.wakeQueue.queueArn]) : []),
    ...buildStatements(
      'events',
      access.bus,
      to.buses.map(({ bus }) => bus.eventBusArn),
    ),
    ...buildBucketStatements(to.content, role, access.content),
    ...buildBucketStatements(to.failures, role, access.failures),
    ...(to.key ? [new PolicyStatement({ actions: KEY_ACTIONS, resources: [to.key.keyArn] })] : []),
  ];
  for (const statement of statements) role.addToPolicy(statement);
};
