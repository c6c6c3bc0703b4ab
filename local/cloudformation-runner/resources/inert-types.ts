import { z } from 'zod';
import { buildArn, defineResourceType, getPhysicalName, type Named, type ResourceType } from '../resource-type.ts';

const anything = z.unknown().optional();
const defineInertType = (...names: string[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, anything])));

const keyArn = buildArn('kms', (name) => `key/${name}`);
const topicArn = buildArn('sns', (name) => name);
const alarmArn = buildArn('cloudwatch', (name) => `alarm:${name}`);
const logGroupArn = ({ name, site }: Named): string =>
  `arn:aws:logs:${site.region}:${site.account}:log-group:${name}:*`;

/** Their properties are checked and their names and ARNs resolved. They change nothing for the functions. */
export const WITHOUT_EFFECT: readonly ResourceType[] = [
  defineResourceType('AWS::CDK::Metadata', defineInertType('Analytics')),
  defineResourceType(
    'AWS::Logs::LogGroup',
    defineInertType('LogGroupName', 'RetentionInDays', 'KmsKeyId', 'LogGroupClass', 'Tags', 'DataProtectionPolicy'),
    { nameProperty: 'LogGroupName', attributes: { Arn: logGroupArn } },
  ),
  defineResourceType('AWS::Logs::ResourcePolicy', defineInertType('PolicyDocument', 'PolicyName')),
  defineResourceType(
    'AWS::Logs::MetricFilter',
    defineInertType('FilterName', 'FilterPattern', 'LogGroupName', 'MetricTransformations', 'ApplyOnTransformedLogs'),
  ),
  defineResourceType(
    'AWS::Logs::QueryDefinition',
    defineInertType('Name', 'LogGroupNames', 'QueryString', 'QueryLanguage'),
  ),
  defineResourceType(
    'AWS::CloudWatch::Alarm',
    defineInertType(
      'ActionsEnabled',
      'AlarmActions',
      'AlarmDescription',
      'AlarmName',
      'ComparisonOperator',
      'DatapointsToAlarm',
      'Dimensions',
      'EvaluateLowSampleCountPercentile',
      'EvaluationPeriods',
      'ExtendedStatistic',
      'InsufficientDataActions',
      'MetricName',
      'Metrics',
      'Namespace',
      'OKActions',
      'Period',
      'Statistic',
      'Tags',
      'Threshold',
      'ThresholdMetricId',
      'TreatMissingData',
      'Unit',
    ),
    { nameProperty: 'AlarmName', attributes: { Arn: alarmArn } },
  ),
  defineResourceType(
    'AWS::CloudWatch::CompositeAlarm',
    defineInertType('ActionsEnabled', 'AlarmActions', 'AlarmDescription', 'AlarmName', 'AlarmRule', 'OKActions'),
    { nameProperty: 'AlarmName', attributes: { Arn: alarmArn } },
  ),
  defineResourceType('AWS::CloudWatch::Dashboard', defineInertType('DashboardBody', 'DashboardName', 'Tags'), {
    nameProperty: 'DashboardName',
  }),
  defineResourceType(
    'AWS::SNS::Topic',
    defineInertType('TopicName', 'DisplayName', 'KmsMasterKeyId', 'Subscription', 'Tags', 'TracingConfig'),
    { nameProperty: 'TopicName', ref: topicArn, attributes: { TopicArn: topicArn, TopicName: getPhysicalName } },
  ),
  defineResourceType(
    'AWS::SNS::Subscription',
    defineInertType('Endpoint', 'FilterPolicy', 'Protocol', 'RawMessageDelivery', 'RedrivePolicy', 'TopicArn'),
  ),
  defineResourceType('AWS::SNS::TopicPolicy', defineInertType('PolicyDocument', 'Topics')),
  defineResourceType(
    'AWS::KMS::Key',
    defineInertType(
      'Description',
      'EnableKeyRotation',
      'Enabled',
      'KeyPolicy',
      'KeySpec',
      'KeyUsage',
      'MultiRegion',
      'PendingWindowInDays',
      'RotationPeriodInDays',
      'Tags',
    ),
    { attributes: { Arn: keyArn, KeyId: getPhysicalName } },
  ),
  defineResourceType('AWS::KMS::Alias', defineInertType('AliasName', 'TargetKeyId'), { nameProperty: 'AliasName' }),
  defineResourceType(
    'AWS::CertificateManager::Certificate',
    defineInertType('DomainName', 'DomainValidationOptions', 'SubjectAlternativeNames', 'Tags', 'ValidationMethod'),
    { ref: buildArn('acm', (name) => `certificate/${name}`) },
  ),
  defineResourceType(
    'AWS::Route53::RecordSet',
    defineInertType('AliasTarget', 'Comment', 'HostedZoneId', 'Name', 'ResourceRecords', 'TTL', 'Type'),
  ),
];
