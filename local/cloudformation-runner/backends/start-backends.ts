import { join } from 'node:path';
import type { Disposer } from '../disposer.ts';
import type { ResourceGraph } from '../graph.ts';
import type { Random } from '../random.ts';
import { buildJsonRequest, parseJsonResponse } from './call-json.ts';
import { type DynamoDbLocal, NO_DYNAMODB, startDynamoDbLocal } from './dynamodb-local.ts';
import { type QueuesAndBuckets, startQueuesAndBuckets } from './queues-and-buckets.ts';
import { createTables, hasTables } from './tables.ts';

interface StartedBackends {
  dynamodb: DynamoDbLocal;
  storage: QueuesAndBuckets;
  sendMessage(queueUrl: string, body: string, groupId: string | undefined): Promise<unknown>;
}

export const startBackends = async (
  plan: ResourceGraph,
  dir: string,
  undo: Disposer,
  random: Random,
): Promise<StartedBackends> => {
  const { region } = plan.site;
  const stopAll = <T extends { stop(): Promise<void> }>(running: T): T => {
    undo.defer(running.stop);
    return running;
  };
  const starting = {
    dynamodb: hasTables(plan) ? startDynamoDbLocal(join(dir, 'dynamodb'), region) : Promise.resolve(NO_DYNAMODB),
    storage: startQueuesAndBuckets(plan, join(dir, 'sqs-s3'), random),
  };
  // If one fails, the other must finish its start before it can be stopped.
  await Promise.allSettled(Object.values(starting));
  const [dynamodb, storage] = await Promise.all([starting.dynamodb.then(stopAll), starting.storage.then(stopAll)]);
  await createTables(plan, dynamodb);
  return {
    dynamodb,
    storage,
    sendMessage: async (queueUrl, body, groupId) => {
      const target = 'AmazonSQS.SendMessage';
      const message = { QueueUrl: queueUrl, MessageBody: body, MessageGroupId: groupId };
      return parseJsonResponse(
        target,
        await storage.forward(buildJsonRequest('local', region, 'sqs', target, message)),
      );
    },
  };
};
