import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { sleep } from '../../ports/clock.ts';
import type { EngineHandlers } from '../../ports/engine-handlers.ts';
import type { Item, Key, RecordChange, Records } from '../../ports/records.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { splitIntoChunks } from './backoff.ts';
import type { DynamoTable } from './dynamo-table.ts';
import { type Attributes, DUE_SHARDS } from './item-codec.ts';
import { sendInBatches } from './sqs-queue.ts';

export interface DueMessage extends Key {
  due: number;
}

/** The sweep runs every 60 s; 15 s more cover a late one. */
export const SWEEP_LOOKAHEAD_MS = 75_000;
/** Two sweep intervals. A timer due sooner is sent at once. */
const SOON_MS = 120_000;
/** Clocks differ: the receiver waits for the rest of a delay up to this. */
const MAX_EARLY_MS = 2000;

export interface AwsTimers {
  sweep(until: number): Promise<number>;
  scheduleSoonDue(changes: RecordChange[]): Promise<void>;
  /** Does nothing if the timer was moved since. */
  fire(message: DueMessage, due: EngineHandlers['onTimer']): Promise<void>;
}

export const createAwsTimers = (table: DynamoTable, records: Records, sqs: SQSClient, queueUrl: string): AwsTimers => {
  const { clock } = table;
  const sendDueMessages = (messages: DueMessage[]): Promise<void> =>
    sendInBatches({ clock }, new Map([[queueUrl, messages]]), async (url, batch) => {
      const entries = batch.map((message, index) => ({
        Id: String(index),
        MessageBody: JSON.stringify(message),
        DelaySeconds: Math.max(0, Math.ceil((message.due - clock.now()) / 1000)),
      }));
      return (await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: entries }))).Failed;
    });
  return {
    sweep: async (until) => {
      const shards = Array.from({ length: DUE_SHARDS }, (_, shard) =>
        sweepShard(table, String(shard), until, sendDueMessages),
      );
      return (await Promise.all(shards)).reduce((sum, count) => sum + count, 0);
    },
    scheduleSoonDue: (changes) => sendDueMessages(changes.flatMap((change) => pickSoonDue(change, clock.now()))),
    fire: async ({ pk, sk, due }, hand) => {
      const early = due - clock.now();
      if (early > 0 && early <= MAX_EARLY_MS) await sleep(clock, early).done;
      const record = await records.get({ pk, sk });
      if (record?.due === due && due <= clock.now()) await hand(record);
    },
  };
};

const pickSoonDue = ({ before, after }: RecordChange, now: number): DueMessage[] => {
  if (after?.due === undefined || after.due === before?.due || after.due > now + SOON_MS) return [];
  return [toDueMessage(after, after.due)];
};

const toDueMessage = ({ pk, sk }: Item, due: number): DueMessage => ({ pk, sk, due });

/**
 * An older timer already has a message. While the consumer is down, messages must not pile up, so every tenth sweep
 * resends.
 */
const RESEND_AFTER_MS = 120_000;
const isLateSweepMinute = (now: number): boolean => Math.floor(now / 60_000) % 10 === 0;

/** A request waiting for a connection uses up its timeout: 100 messages are ten requests. */
const SEND_CONCURRENCY = 100;

const sweepShard = async (
  table: DynamoTable,
  shard: string,
  until: number,
  send: (messages: DueMessage[]) => Promise<void>,
): Promise<number> => {
  let swept = 0;
  let start: Attributes | undefined;
  do {
    const { items, next } = await queryDuePage(table, shard, until, start);
    const now = table.clock.now();
    const sent = items.filter(({ due }) => due > now - RESEND_AFTER_MS || isLateSweepMinute(now));
    for (const some of splitIntoChunks(sent, SEND_CONCURRENCY)) await send(some);
    swept += sent.length;
    start = next;
  } while (start);
  return swept;
};

const queryDuePage = async (table: DynamoTable, shard: string, until: number, start: Attributes | undefined) => {
  const { Items: items = [], LastEvaluatedKey: next } = await mapAwsErrors(
    table.dynamo.send(
      new QueryCommand({
        TableName: table.name,
        IndexName: 'due',
        KeyConditionExpression: '#shard = :shard AND #due <= :until',
        ExpressionAttributeNames: { '#shard': 'dueShard', '#due': 'due' },
        ExpressionAttributeValues: { ':shard': { S: shard }, ':until': { N: String(until) } },
        ExclusiveStartKey: start,
      }),
    ),
  );
  return { items: items.map(({ pk, sk, due }) => ({ pk: pk?.S ?? '', sk: sk?.S ?? '', due: Number(due?.N) })), next };
};
