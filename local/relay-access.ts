import type { RunningTemplate } from './cloudformation-runner/index.ts';
import { RoleAccess } from './cloudformation-runner/index.ts';

interface RelayAccess {
  queueUrlPrefix: string;
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
}

const ACTIONS = ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility'].map((action) => `sqs:${action}`);
const createAccessKey = (project: string): string =>
  `RELAYOF${project.toUpperCase().replaceAll('-', '')}${project.length}`;

export const getRelayAccess = (
  { outputs, gateway, gatewayAddress, region, account }: RunningTemplate,
  project: string,
): RelayAccess => {
  const queueUrlPrefix = String(outputs.QueueUrlPrefix);
  const names = queueUrlPrefix.slice(queueUrlPrefix.lastIndexOf('/') + 1);
  const queues = `arn:aws:sqs:${region}:${account}:${names}${project}_relay-*`;
  const access = new RoleAccess('relay', [{ Effect: 'Allow', Action: ACTIONS, Resource: [queues] }]);
  const accessKeyId = createAccessKey(project);
  gateway.addCaller(accessKeyId, { name: 'relay', access });
  const credentials = { accessKeyId, secretAccessKey: 'local' };
  return { queueUrlPrefix, endpoint: gatewayAddress, region, credentials };
};
