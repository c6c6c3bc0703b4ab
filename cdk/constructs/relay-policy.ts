import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { KEY_ACTIONS } from './encryption.ts';
import type { FunctionResources } from './grant-access.ts';

const RELAY_ACTIONS = ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility'].map((action) => `sqs:${action}`);

/** What the relay of a project may do, wherever it runs. */
export const buildRelayStatements = (
  { queues, key }: Pick<FunctionResources, 'queues' | 'key'>,
  project: string,
): PolicyStatement[] => {
  const own = queues.relayQueues.filter((queueKey) => queueKey.project === project);
  return [
    new PolicyStatement({ actions: RELAY_ACTIONS, resources: own.map(({ queue }) => queue.queueArn) }),
    ...(key ? [new PolicyStatement({ actions: KEY_ACTIONS, resources: [key.keyArn] })] : []),
  ];
};

/** As JSON, for the role of a relay outside of AWS. */
export const listRelayPolicies = (
  scope: Construct,
  resources: FunctionResources,
): { project: string; policy: string }[] =>
  [...new Set(resources.queues.relayQueues.map(({ project }) => project))].map((project) => ({
    project,
    policy: Stack.of(scope).toJsonString({
      Version: '2012-10-17',
      Statement: buildRelayStatements(resources, project).map((statement) => statement.toStatementJson()),
    }),
  }));
