import { BatchGetItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../ports/clock.ts';
import type { Item, Key, Ref } from '../../ports/records.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { splitIntoChunks, waitBeforeRetry } from './backoff.ts';
import { type Attributes, ItemCodec, type StorageSchema } from './item-codec.ts';

export interface DynamoTable {
  dynamo: DynamoDBClient;
  name: string;
  codec: ItemCodec;
  clock: Clock;
}

export const createDynamoTable = (
  dynamo: DynamoDBClient,
  name: string,
  packing: StorageSchema,
  clock: Clock,
): DynamoTable => ({
  dynamo,
  name,
  codec: new ItemCodec(packing),
  clock,
});

export const toAttributeKey = ({ pk, sk }: Key): Attributes => ({ pk: { S: pk }, sk: { S: sk } });

/** DynamoDB deletes expired items late, so `expires` is checked on read. */
export const decodeUnlessExpired = <T extends Item>(
  table: DynamoTable,
  item: Attributes | undefined,
): T | undefined => {
  if (!item) return undefined;
  const record = table.codec.decode<T>(item);
  return record.expires === undefined || record.expires > table.clock.now() ? record : undefined;
};

const MAX_BATCH_GET = 100;

export const getMany = async <T extends Item>(table: DynamoTable, refs: Ref<T>[]): Promise<T[]> => {
  const keys = [...new Map(refs.map((ref) => [JSON.stringify([ref.pk, ref.sk]), toAttributeKey(ref)])).values()];
  const chunks = await Promise.all(splitIntoChunks(keys, MAX_BATCH_GET).map((chunk) => getChunk<T>(table, chunk)));
  return chunks.flat();
};

/** DynamoDB may return unprocessed keys: the answer was too large, or it throttled. */
const getChunk = async <T extends Item>(table: DynamoTable, keys: Attributes[]): Promise<T[]> => {
  const found: T[] = [];
  let left: Attributes[] = keys;
  for (let attempt = 0; left.length > 0; attempt++) {
    if (attempt > 0) await waitBeforeRetry(table.clock, attempt, 'DynamoDB');
    const request = { [table.name]: { Keys: left, ConsistentRead: true } };
    const answer = await mapAwsErrors(table.dynamo.send(new BatchGetItemCommand({ RequestItems: request })));
    for (const item of answer.Responses?.[table.name] ?? []) {
      const record = decodeUnlessExpired<T>(table, item);
      if (record) found.push(record);
      attempt = 0;
    }
    left = answer.UnprocessedKeys?.[table.name]?.Keys ?? [];
  }
  return found;
};
