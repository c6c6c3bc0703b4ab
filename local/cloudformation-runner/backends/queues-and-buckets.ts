import { mkdirSync } from 'node:fs';
import { startFauxqs } from 'fauxqs';
import type { AwsRequest } from '../gateway/aws-call.ts';
import type { ResourceGraph } from '../graph.ts';
import type { Random } from '../random.ts';
import { buildQueueUrl, Queue } from '../resources/messaging.ts';
import { Bucket } from '../resources/storage.ts';
import { bindToLoopback } from './bind-to-loopback.ts';
import { buildJsonRequest, parseJsonResponse } from './call-json.ts';
import { createForwarder, type Forward } from './forward.ts';
import { supportObjectTags } from './object-tags.ts';
import { supportReceiveAttempts } from './receive-attempts.ts';
import { createUnkindReceives } from './unkind-receives.ts';

export interface QueuesAndBuckets {
  forward: Forward;
  stop(): Promise<void>;
}

export const startQueuesAndBuckets = async (
  plan: ResourceGraph,
  dir: string,
  random: Random,
): Promise<QueuesAndBuckets> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { region, account } = plan.site;
  const server = await bindToLoopback(() =>
    startFauxqs({ port: 0, logger: false, defaultRegion: region, dataDir: dir }),
  );
  const { forward, close } = createForwarder(server.port);
  for (const { name, properties } of plan.listResources(Queue)) {
    const attributes = toQueueAttributes(properties);
    // Creating an existing queue again would drop its messages.
    if (!server.inspectQueue(name)) server.createQueue(name, { attributes });
    else {
      const target = 'AmazonSQS.SetQueueAttributes';
      const body = { QueueUrl: buildQueueUrl(region, account, name), Attributes: pickChangeable(attributes) };
      parseJsonResponse(target, await forward(buildJsonRequest('local', region, 'sqs', target, body)));
    }
  }
  for (const { name } of plan.listResources(Bucket)) server.createBucket(name);
  const received = createUnkindReceives(supportReceiveAttempts(supportObjectTags(forward)), random);
  return {
    forward: (request) => received(supportVisibility(request)),
    stop: async () => {
      close();
      await server.stop();
    },
  };
};

/** With persistent state, the local SQS loses a message whose visibility is set to 0. One millisecond works. */
const supportVisibility = (request: AwsRequest): AwsRequest => {
  if (!request.headers['x-amz-target']?.startsWith('AmazonSQS.ChangeMessageVisibility')) return request;
  const body = JSON.parse(request.body.toString(), (name, value) =>
    name === 'VisibilityTimeout' && value === 0 ? 0.001 : value,
  );
  return { ...request, body: Buffer.from(JSON.stringify(body)) };
};

/** Without the high-throughput attributes, which the local SQS does not know. */
const ATTRIBUTES = [
  'FifoQueue',
  'ContentBasedDeduplication',
  'VisibilityTimeout',
  'DelaySeconds',
  'MessageRetentionPeriod',
  'MaximumMessageSize',
  'ReceiveMessageWaitTimeSeconds',
  'KmsMasterKeyId',
] as const;

type QueueProperties = ReturnType<typeof Queue.properties.parse>;

const toQueueAttributes = (properties: QueueProperties): Record<string, string> => ({
  ...Object.fromEntries(
    ATTRIBUTES.filter((name) => properties[name] !== undefined).map((name) => [name, String(properties[name])]),
  ),
  ...(properties.RedrivePolicy && { RedrivePolicy: JSON.stringify(properties.RedrivePolicy) }),
});

const pickChangeable = ({ FifoQueue: _, ...attributes }: Record<string, string>): Record<string, string> => attributes;
