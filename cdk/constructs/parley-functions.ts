import type { Code } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { FunctionEnv } from '../../functions/env.ts';
import type { AwsConfig } from '../../shared/aws-config.ts';
import type { FunctionName } from '../functions.ts';
import type { Surroundings } from './grants.ts';
import { ParleyFunction } from './parley-function.ts';

export interface FunctionsProps {
  aws: AwsConfig;
  code: (name: FunctionName) => Code;
  surroundings: Surroundings;
}

/** All functions. Each is told where everything is, and may reach what its row in `FUNCTIONS` says. */
export const parleyFunctions = (
  scope: Construct,
  { aws, code, surroundings }: FunctionsProps,
): Record<FunctionName, ParleyFunction> => {
  const env: FunctionEnv = {
    STAGE: aws.stage,
    TABLE_NAME: surroundings.table.tableName,
    BUCKET_NAME: surroundings.content.bucketName,
    BUS_NAME: surroundings.bus.eventBusName,
    LANE_URL_PREFIX: surroundings.lanes.urlPrefix,
    DELAY_QUEUE_URL: surroundings.delay.queue.queueUrl,
  };
  const make = (name: FunctionName, more: Record<string, string> = {}): ParleyFunction =>
    new ParleyFunction(scope, {
      stage: aws.stage,
      name,
      code: code(name),
      env: { ...env, ...more },
      logDays: aws.logDays,
      surroundings,
    });
  return {
    ingest: make('ingest'),
    claims: make('claims'),
    tasks: make('tasks'),
    inbox: make('inbox'),
    agents: make('agents'),
    cards: make('cards'),
    relay: make('relay'),
    turns: make('turns'),
    api: make('api'),
    dispatch: make('dispatch'),
    sweep: make('sweep'),
    due: make('due'),
    'dead-letters': make('dead-letters'),
    replay: make('replay', { FAILURE_BUCKET_NAME: surroundings.failures.bucketName }),
    'admin-key': make('admin-key'),
  };
};
