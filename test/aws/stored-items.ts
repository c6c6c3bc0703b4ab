import { z } from 'zod';
import { taskRef } from '../../shared/model/task.ts';
import type { Key } from '../../shared/ports/records.ts';
import type { RunningParley } from './running-parley.ts';

const Item = z.record(z.string(), z.record(z.string(), z.unknown()));
export type StoredItem = z.output<typeof Item>;

const Found = z.object({ Item });
const Page = z.object({ Items: z.array(Item), LastEvaluatedKey: Item.optional() });

export const storedItem = async (parley: RunningParley, { pk, sk }: Key): Promise<StoredItem> => {
  const key = { TableName: parley.table, Key: { pk: { S: pk }, sk: { S: sk } }, ConsistentRead: true };
  return Found.parse(await parley.aws('dynamodb', 'GetItem', key)).Item;
};

/** A task as the table has it. */
export const storedTask = (parley: RunningParley, id: string): Promise<StoredItem> =>
  storedItem(parley, taskRef('default', id));

export const allItems = async (parley: RunningParley): Promise<StoredItem[]> => {
  const items: StoredItem[] = [];
  let start: StoredItem | undefined;
  do {
    const page = Page.parse(
      await parley.aws('dynamodb', 'Scan', { TableName: parley.table, ConsistentRead: true, ExclusiveStartKey: start }),
    );
    items.push(...page.Items);
    start = page.LastEvaluatedKey;
  } while (start);
  return items;
};

/** A change of an item as the stream tells of it. */
export const streamRecord = (before: StoredItem | undefined, after: StoredItem, sequence: number): object => ({
  eventName: before ? 'MODIFY' : 'INSERT',
  eventSource: 'aws:dynamodb',
  dynamodb: {
    Keys: { pk: after.pk, sk: after.sk },
    OldImage: before,
    NewImage: after,
    SequenceNumber: String(sequence).padStart(21, '0'),
  },
});
