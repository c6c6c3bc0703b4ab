import { mkdirSync } from 'node:fs';
import { startFauxqs } from 'fauxqs';
import type { AwsRequest } from '../gateway/aws-call.ts';
import { Queue, queueUrl } from '../kinds/messaging.ts';
import { Bucket } from '../kinds/storage.ts';
import type { Plan } from '../plan.ts';
import { type Forward, forwardTo } from './forward.ts';
import { jsonAnswer, jsonRequest } from './json-call.ts';
import { withTags } from './object-tags.ts';

export interface QueuesAndBuckets {
  forward: Forward;
  stop(): Promise<void>;
}

/** SQS and S3 in this process, with their state in a folder. */
export const startQueuesAndBuckets = async (plan: Plan, dir: string): Promise<QueuesAndBuckets> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const { region, account } = plan.site;
  const server = await startFauxqs({ port: 0, logger: false, defaultRegion: region, dataDir: dir });
  const { forward, close } = forwardTo(server.port);
  for (const { name, properties } of plan.all(Queue)) {
    const attributes = attributesOf(properties);
    // Made again, a queue would lose its messages.
    if (!server.inspectQueue(name)) server.createQueue(name, { attributes });
    else {
      const target = 'AmazonSQS.SetQueueAttributes';
      const body = { QueueUrl: queueUrl(region, account, name), Attributes: changeable(attributes) };
      jsonAnswer(target, await forward(jsonRequest('local', region, 'sqs', target, body)));
    }
  }
  for (const { name } of plan.all(Bucket)) server.createBucket(name);
  const tagged = withTags(forward);
  return {
    forward: (request) => tagged(withVisibility(request)),
    stop: async () => {
      close();
      await server.stop();
    },
  };
};

/** Where its state is in a folder, this SQS forgets a message that is to be visible at once. After a millisecond is as good. */
const withVisibility = (request: AwsRequest): AwsRequest => {
  if (!request.headers['x-amz-target']?.startsWith('AmazonSQS.ChangeMessageVisibility')) return request;
  const body = JSON.parse(request.body.toString(), (name, value) =>
    name === 'VisibilityTimeout' && value === 0 ? 0.001 : value,
  );
  return { ...request, body: Buffer.from(JSON.stringify(body)) };
};

/** All but those of high throughput, which the local SQS does not know and does not need: it has no limits. */
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

/** Attributes are texts in SQS's own API, and the redrive policy is JSON in a text. */
const attributesOf = (properties: QueueProperties): Record<string, string> => ({
  ...Object.fromEntries(
    ATTRIBUTES.filter((name) => properties[name] !== undefined).map((name) => [name, String(properties[name])]),
  ),
  ...(properties.RedrivePolicy && { RedrivePolicy: JSON.stringify(properties.RedrivePolicy) }),
});

const changeable = ({ FifoQueue: _, ...attributes }: Record<string, string>): Record<string, string> => attributes;
