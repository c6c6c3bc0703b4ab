import { BatchGetItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../ports/clock.ts';
import type { Item, Key, Ref } from '../../ports/records.ts';
import { type Attributes, type Packing, Shelf } from './attributes.ts';
import { answerOf } from './failures.ts';
import { backOff, inChunks } from './patience.ts';

/** One table, as everything that reads or writes it needs it. */
export interface Table {
  dynamo: DynamoDBClient;
  name: string;
  shelf: Shelf;
  clock: Clock;
}

export const tableOf = (dynamo: DynamoDBClient, name: string, packing: Packing, clock: Clock): Table => ({
  dynamo,
  name,
  shelf: new Shelf(packing),
  clock,
});

export const keyOf = ({ pk, sk }: Key): Attributes => ({ pk: { S: pk }, sk: { S: sk } });

/** What is stored counts until its time is over, whether or not DynamoDB has removed it by then. */
export const live = <T extends Item>(table: Table, item: Attributes | undefined): T | undefined => {
  if (!item) return undefined;
  const record = table.shelf.record<T>(item);
  return record.expires === undefined || record.expires > table.clock.now() ? record : undefined;
};

const MOST_GOTTEN = 100;

export const getMany = async <T extends Item>(table: Table, refs: Ref<T>[]): Promise<T[]> => {
  const keys = [...new Map(refs.map((ref) => [JSON.stringify([ref.pk, ref.sk]), keyOf(ref)])).values()];
  const chunks = await Promise.all(inChunks(keys, MOST_GOTTEN).map((chunk) => getChunk<T>(table, chunk)));
  return chunks.flat();
};

/** DynamoDB may leave some for another request: the answer was too large, or it is too busy. */
const getChunk = async <T extends Item>(table: Table, keys: Attributes[]): Promise<T[]> => {
  const found: T[] = [];
  let left: Attributes[] = keys;
  for (let attempt = 0; left.length > 0; attempt++) {
    if (attempt > 0) await backOff(table.clock, attempt, 'DynamoDB');
    const request = { [table.name]: { Keys: left, ConsistentRead: true } };
    const answer = await answerOf(table.dynamo.send(new BatchGetItemCommand({ RequestItems: request })));
    for (const item of answer.Responses?.[table.name] ?? []) {
      const record = live<T>(table, item);
      if (record) found.push(record);
      attempt = 0;
    }
    left = answer.UnprocessedKeys?.[table.name]?.Keys ?? [];
  }
  return found;
};
