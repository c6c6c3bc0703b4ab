import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { FunctionEnv } from '../../functions/runtime/env.ts';
import type { AwsConfig } from '../../shared/config/aws-config.ts';
import { DEFAULT_ROUTE_FUNCTION, type FunctionName, ROUTES } from '../function-specs.ts';
import type { FunctionResources } from './grant-access.ts';
import { ParleyFunction } from './parley-function.ts';

const HTTP_FUNCTIONS = new Set<FunctionName>([DEFAULT_ROUTE_FUNCTION, ...ROUTES.map(({ to }) => to)]);

export interface FunctionsProps {
  aws: AwsConfig;
  code: (name: FunctionName) => Code;
  resources: FunctionResources;
  edgeSecret: string | undefined;
}

export const buildFunctionEnv = (stage: string, resources: FunctionResources): FunctionEnv => ({
  STAGE: stage,
  TABLE_NAME: resources.table.tableName,
  BUCKET_NAME: resources.content.bucketName,
  QUEUE_URL_PREFIX: resources.queues.urlPrefix,
  DELAY_QUEUE_URL: resources.delayQueue.queue.queueUrl,
  ...(resources.wakeQueue && { WAKE_QUEUE_URL: resources.wakeQueue.queueUrl }),
});

export const createFunctions = (
  scope: Construct,
  { aws, code, resources, edgeSecret }: FunctionsProps,
): Record<FunctionName, ParleyFunction> => {
  const env = buildFunctionEnv(aws.stage, resources);
  const createFunction = (name: FunctionName, more: Record<string, string> = {}): ParleyFunction =>
    new ParleyFunction(scope, {
      stage: aws.stage,
      name,
      code: code(name),
      env: { ...env, ...(edgeSecret && HTTP_FUNCTIONS.has(name) && { EDGE_SECRET: edgeSecret }), ...more },
      logDays: aws.logDays,
      resources,
      hasAlias: aws.canary && HTTP_FUNCTIONS.has(name),
    });
  const failures = { FAILURE_BUCKET_NAME: resources.failures.bucketName };
  return {
    ingest: createFunction('ingest'),
    claims: createFunction('claims'),
    tasks: createFunction('tasks'),
    api: createFunction('api'),
    dispatch: createFunction('dispatch', failures),
    sweep: createFunction('sweep'),
    due: createFunction('due'),
    'dead-letters': createFunction('dead-letters'),
    replay: createFunction('replay', failures),
    'admin-key': createFunction('admin-key'),
  };
};
