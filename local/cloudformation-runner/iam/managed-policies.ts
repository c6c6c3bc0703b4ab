import type { Statement } from './policy-document.ts';

const buildStatement = (...actions: string[]): Statement[] => [{ Effect: 'Allow', Action: actions, Resource: ['*'] }];

/** The policies of Amazon's own that a role may name, with what they say. */
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

/** The services that Lambda itself calls in a function's name, which the gateway does not see. */
export const DONE_BY_LAMBDA = ['logs:', 'xray:'] as const;
