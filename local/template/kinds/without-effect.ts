import { z } from 'zod';
import { arn, itsName, type Kind, kind, type Named } from '../kind.ts';

const anything = z.unknown().optional();
const withProperties = (...names: string[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, anything])));

const keyArn = arn('kms', (name) => `key/${name}`);
const topicArn = arn('sns', (name) => name);
const alarmArn = arn('cloudwatch', (name) => `alarm:${name}`);
const logGroupArn = ({ name, site }: Named): string =>
  `arn:aws:logs:${site.region}:${site.account}:log-group:${name}:*`;

/**
 * These are looked at in the account and change nothing about what the functions do: the local runner checks their
 * properties by name, gives their names and ARNs to whoever refers to them, and runs nothing for them.
 */
export const WITHOUT_EFFECT: readonly Kind[] = [
  kind('AWS::CDK::Metadata', withProperties('Analytics')),
  kind(
    'AWS::Logs::LogGroup',
    withProperties('LogGroupName', 'RetentionInDays', 'KmsKeyId', 'LogGroupClass', 'Tags', 'DataProtectionPolicy'),
    { nameProperty: 'LogGroupName', attributes: { Arn: logGroupArn } },
  ),
  kind('AWS::Logs::ResourcePolicy', withProperties('PolicyDocument', 'PolicyName')),
  kind(
    'AWS::Logs::MetricFilter',
    withProperties('FilterName', 'FilterPattern', 'LogGroupName', 'MetricTransformations', 'ApplyOnTransformedLogs'),
  ),
  kind('AWS::Logs::QueryDefinition', withProperties('Name', 'LogGroupNames', 'QueryString', 'QueryLanguage')),
  kind(
    'AWS::CloudWatch::Alarm',
    withProperties(
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
  kind(
    'AWS::CloudWatch::CompositeAlarm',
    withProperties('ActionsEnabled', 'AlarmActions', 'AlarmDescription', 'AlarmName', 'AlarmRule', 'OKActions'),
    { nameProperty: 'AlarmName', attributes: { Arn: alarmArn } },
  ),
  kind('AWS::CloudWatch::Dashboard', withProperties('DashboardBody', 'DashboardName'), {
    nameProperty: 'DashboardName',
  }),
  kind(
    'AWS::SNS::Topic',
    withProperties('TopicName', 'DisplayName', 'KmsMasterKeyId', 'Subscription', 'Tags', 'TracingConfig'),
    { nameProperty: 'TopicName', ref: topicArn, attributes: { TopicArn: topicArn, TopicName: itsName } },
  ),
  kind(
    'AWS::SNS::Subscription',
    withProperties('Endpoint', 'FilterPolicy', 'Protocol', 'RawMessageDelivery', 'RedrivePolicy', 'TopicArn'),
  ),
  kind('AWS::SNS::TopicPolicy', withProperties('PolicyDocument', 'Topics')),
  kind(
    'AWS::KMS::Key',
    withProperties(
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
    { attributes: { Arn: keyArn, KeyId: itsName } },
  ),
  kind('AWS::KMS::Alias', withProperties('AliasName', 'TargetKeyId'), { nameProperty: 'AliasName' }),
  kind(
    'AWS::CertificateManager::Certificate',
    withProperties('DomainName', 'DomainValidationOptions', 'SubjectAlternativeNames', 'Tags', 'ValidationMethod'),
    { ref: arn('acm', (name) => `certificate/${name}`) },
  ),
  kind(
    'AWS::Route53::RecordSet',
    withProperties('AliasTarget', 'Comment', 'HostedZoneId', 'Name', 'ResourceRecords', 'TTL', 'Type'),
  ),
];
