import type { Statement } from './policy-document.ts';

const buildStatement = (...actions: string[]): Statement[] => [{ Effect: 'Allow', Action: actions, Resource: ['*'] }];

export const MANAGED_POLICIES: Record<string, readonly Statement[]> = {
  'arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole': buildStatement(
    'logs:CreateLogGroup',
    'logs:CreateLogStream',
    'logs:PutLogEvents',
  ),
  'arn:aws:iam::aws:policy/AWSXRayDaemonWriteAccess': buildStatement(
    'xray:PutTraceSegments',
    'xray:PutTelemetryRecords',
    'xray:GetSamplingRules',
    'xray:GetSamplingTargets',
    'xray:GetSamplingStatisticSummaries',
  ),
};

/** Lambda makes these calls itself; the gateway does not see them. */
export const DONE_BY_LAMBDA = ['logs:', 'xray:'] as const;
