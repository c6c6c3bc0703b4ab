import { z } from 'zod';
import { buildArn, defineResourceType, getPhysicalName } from '../resource-type.ts';

const noEffectHere = z.unknown().optional();
const seconds = z.number().int().nonnegative();

export const buildQueueUrl = (region: string, account: string, name: string): string =>
  `https://sqs.${region}.amazonaws.com/${account}/${name}`;

export const Queue = defineResourceType(
  'AWS::SQS::Queue',
  z.strictObject({
    QueueName: z.string().max(80).optional(),
    FifoQueue: z.boolean().optional(),
    ContentBasedDeduplication: z.boolean().optional(),
    DeduplicationScope: z.enum(['messageGroup', 'queue']).optional(),
    FifoThroughputLimit: z.enum(['perMessageGroupId', 'perQueue']).optional(),
    VisibilityTimeout: seconds.optional(),
    DelaySeconds: seconds.optional(),
    MessageRetentionPeriod: seconds.optional(),
    MaximumMessageSize: seconds.optional(),
    ReceiveMessageWaitTimeSeconds: seconds.optional(),
    RedrivePolicy: z
      .strictObject({ deadLetterTargetArn: z.string(), maxReceiveCount: z.number().int().positive() })
      .optional(),
    RedriveAllowPolicy: noEffectHere,
    KmsMasterKeyId: z.string().optional(),
    KmsDataKeyReusePeriodSeconds: noEffectHere,
    SqsManagedSseEnabled: noEffectHere,
    Tags: noEffectHere,
  }),
  {
    nameProperty: 'QueueName',
    madeName: (logicalId, site, { FifoQueue }) => `${site.stackName}-${logicalId}${FifoQueue ? '.fifo' : ''}`,
    ref: ({ name, site }) => buildQueueUrl(site.region, site.account, name),
    attributes: {
      Arn: buildArn('sqs', (name) => name),
      QueueName: getPhysicalName,
      QueueUrl: ({ name, site }) => buildQueueUrl(site.region, site.account, name),
    },
  },
);

export const EventBus = defineResourceType(
  'AWS::Events::EventBus',
  z.strictObject({
    Name: z.string(),
    Description: noEffectHere,
    KmsKeyIdentifier: noEffectHere,
    DeadLetterConfig: noEffectHere,
    LogConfig: noEffectHere,
    Tags: noEffectHere,
  }),
  {
    nameProperty: 'Name',
    attributes: { Arn: buildArn('events', (name) => `event-bus/${name}`), Name: getPhysicalName },
  },
);

const RetryPolicy = z
  .strictObject({
    MaximumEventAgeInSeconds: seconds.optional(),
    MaximumRetryAttempts: z.number().int().nonnegative().optional(),
  })
  .optional();

const RuleTarget = z.strictObject({
  Id: z.string(),
  Arn: z.string(),
  Input: z.string().optional(),
  InputPath: z.string().optional(),
  SqsParameters: z.strictObject({ MessageGroupId: z.string() }).optional(),
  RoleArn: z.string().optional(),
  DeadLetterConfig: z.strictObject({ Arn: z.string() }).optional(),
  RetryPolicy,
});

export const EventRuleType = defineResourceType(
  'AWS::Events::Rule',
  z.strictObject({
    Name: z.string().optional(),
    Description: noEffectHere,
    EventBusName: z.string().default('default'),
    EventPattern: z.record(z.string(), z.unknown()).optional(),
    ScheduleExpression: z.string().optional(),
    State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
    Targets: z.array(RuleTarget).default([]),
    Tags: noEffectHere,
  }),
  {
    nameProperty: 'Name',
    attributes: { Arn: buildArn('events', (name) => `rule/${name}`) },
  },
);

/** Checked only; nothing is archived here. */
export const Archive = defineResourceType(
  'AWS::Events::Archive',
  z.strictObject({
    ArchiveName: z.string().optional(),
    SourceArn: z.string(),
    Description: noEffectHere,
    EventPattern: z.record(z.string(), z.unknown()).optional(),
    RetentionDays: z.number().int().nonnegative().optional(),
    KmsKeyIdentifier: noEffectHere,
  }),
  {
    nameProperty: 'ArchiveName',
    attributes: { Arn: buildArn('events', (name) => `archive/${name}`), ArchiveName: getPhysicalName },
  },
);

export const ScheduleGroup = defineResourceType(
  'AWS::Scheduler::ScheduleGroup',
  z.strictObject({ Name: z.string().optional(), Tags: noEffectHere }),
  { nameProperty: 'Name', attributes: { Arn: buildArn('scheduler', (name) => `schedule-group/${name}`) } },
);

export const Schedule = defineResourceType(
  'AWS::Scheduler::Schedule',
  z.strictObject({
    Name: z.string().optional(),
    GroupName: z.string().optional(),
    Description: noEffectHere,
    ScheduleExpression: z.string(),
    ScheduleExpressionTimezone: z.enum(['UTC', 'Etc/UTC']).optional(),
    FlexibleTimeWindow: z.strictObject({
      Mode: z.enum(['OFF', 'FLEXIBLE']),
      MaximumWindowInMinutes: noEffectHere,
    }),
    State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
    Target: z.strictObject({
      Arn: z.string(),
      RoleArn: z.string(),
      Input: z.string().optional(),
      DeadLetterConfig: z.strictObject({ Arn: z.string() }).optional(),
      RetryPolicy,
    }),
    KmsKeyArn: noEffectHere,
  }),
  { nameProperty: 'Name', attributes: { Arn: buildArn('scheduler', (name) => `schedule/default/${name}`) } },
);
