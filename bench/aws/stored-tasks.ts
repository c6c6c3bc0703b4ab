import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { type DynamoDbLocal, startDynamoDbLocal, TableStream } from '../../local/cloudformation-runner/index.ts';
import { RECORDS } from '../../shared/effects/record-definitions.ts';
import { type Attributes, ItemCodec } from '../../shared/engines/aws/item-codec.ts';
import type { Task } from '../../shared/model/task.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import type { Item } from '../../shared/ports/records.ts';

const shelf = new ItemCodec(RECORDS);

const api = (operation: string): string => `DynamoDB_20120810.${operation}`;
const Tables = z.object({ TableNames: z.tuple([z.string()]) });
/** Only top-level values are binary; JSON has them as base64. */
const StoredValue = z.union([
  z.object({ B: z.string() }).transform(({ B }) => ({ B: Buffer.from(B, 'base64') })),
  z.custom<AttributeValue>((value) => typeof value === 'object'),
]);
const Items = z.object({ Items: z.array(z.record(z.string(), StoredValue)) });

interface EventBatch extends Item {
  batch: ParleyEvent[];
}

interface Left {
  task: Task;
  log: EventBatch;
}

/** DynamoDB's limit for a batch write. */
const BATCH = 25;
const EVENTS_IN_ITEM = 240;

/** The site must be down. The stream position moves past the new records, so nothing is dispatched. */
export const storeTasks = async (dir: string, wanted: number): Promise<void> => {
  const dynamodb = await startDynamoDbLocal(join(dir, 'dynamodb'), 'us-east-1');
  try {
    const [table] = Tables.parse(await dynamodb.call(api('ListTables'), {})).TableNames;
    const left = await leftByALife(dynamodb, table);
    const write = async (records: (Task | EventBatch)[]): Promise<void> => {
      const requests = records.map((record) => ({ PutRequest: { Item: inJson(shelf.encode(record)) } }));
      await dynamodb.call(api('BatchWriteItem'), { RequestItems: { [table]: requests } });
    };
    let events: ParleyEvent[] = [];
    let seq = Number(left.log.sk);
    for (let stored = 0; stored < wanted; stored += BATCH) {
      const tasks = Array.from({ length: Math.min(BATCH, wanted - stored) }, () => another(left.task));
      events.push(...tasks.flatMap(({ id }) => left.log.batch.map((event) => about(event, id))));
      await write(tasks);
      if (events.length < EVENTS_IN_ITEM && stored + BATCH < wanted) continue;
      seq += 1;
      await write([{ ...left.log, sk: String(seq).padStart(left.log.sk.length, '0'), batch: events }]);
      events = [];
    }
    await passStream(dynamodb, table, join(dir, 'stream-positions.json'));
  } finally {
    await dynamodb.stop();
  }
};

const Positions = z.record(z.string(), z.unknown());

/** DynamoDB Local has one open shard, the last. */
const passStream = async (dynamodb: DynamoDbLocal, table: string, file: string): Promise<void> => {
  const stream = new TableStream(dynamodb.call, table);
  const shardId = (await stream.listShards()).at(-1)?.ShardId ?? '';
  const positions = Positions.parse(JSON.parse(readFileSync(file, 'utf8')));
  const [name = '', position] = Object.entries(positions).find(([key]) => key.endsWith(shardId)) ?? [];
  let { after } = Position.parse(position);
  let iterator: string | undefined = await stream.getIterator(shardId, { after });
  while (iterator !== undefined) {
    const { getRecords, next }: Awaited<ReturnType<TableStream['getRecords']>> = await stream.getRecords(iterator);
    after = getRecords.at(-1)?.dynamodb.SequenceNumber ?? after;
    iterator = getRecords.length > 0 ? next : undefined;
  }
  writeFileSync(file, JSON.stringify({ ...positions, [name]: { after } }));
};

const Position = z.object({ after: z.string() });

/** The newest event batch with its task: its three events are one task cycle. */
const leftByALife = async (dynamodb: DynamoDbLocal, table: string): Promise<Left> => {
  const found = async <T extends Item>(pk: string): Promise<T[]> => {
    const query = {
      TableName: table,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: pk } },
    };
    const { Items: items } = Items.parse(await dynamodb.call(api('Query'), query));
    return items.map((item) => shelf.decode<T>(item));
  };
  const logs = await found<EventBatch>('default#events');
  const newest = logs.at(-1);
  const taskId = newest?.batch.at(-1)?.data.taskId;
  const [task] = await found<Task>(`default#task#${taskId}`);
  if (!newest || task?.status !== 'completed') throw new Error('no life is over yet that could be stored again');
  const batch = logs.flatMap((log) => log.batch).filter((event) => event.data.taskId === taskId);
  return { task, log: { ...newest, batch } };
};

const another = (task: Task): Task => {
  const id = randomUUID();
  return { ...task, id, pk: task.pk.replace(task.id, id) };
};

const about = (event: ParleyEvent, id: string): ParleyEvent => ({
  ...event,
  id: event.id.replace(String(event.data.taskId), id),
  data: { ...event.data, taskId: id },
});

const inJson = (item: Attributes): object =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name,
      value.B ? { B: Buffer.from(value.B).toString('base64') } : value,
    ]),
  );
