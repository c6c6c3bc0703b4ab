import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { mapConcurrent } from '../../kernel/concurrency.ts';
import type { Key } from '../../ports/records.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { splitIntoChunks } from './backoff.ts';
import type { DynamoTable } from './dynamo-table.ts';
import { type Attributes, DUE_SHARDS } from './item-codec.ts';

export interface DueMessage extends Key {
  due: number;
  /** When it is to fire, where that is later than `due`. */
  at?: number | undefined;
}

type Send = (messages: DueMessage[]) => Promise<void>;

/** Until a time. What is newly due is sent in any case; what is overdue, up to the deadline. */
export type Sweep = (until: number, options?: { deadline?: number }) => Promise<{ newlyDue: number; overdue: number }>;

/** Overdue is what is later than `lateMs`. */
export const createSweep = (table: DynamoTable, send: Send, lateMs: number): Sweep => {
  const sweepOverdue = createOverdueSweep(table, send);
  return async (until, { deadline = Infinity } = {}) => {
    const since = table.clock.now() - lateMs;
    const newlyDue = await sweepNewlyDue(table, { since, until }, send);
    return { newlyDue, overdue: await sweepOverdue(since, deadline) };
  };
};

const SHARDS = Array.from({ length: DUE_SHARDS }, (_, shard) => String(shard));
const SHARDS_AT_ONCE = 16;
const PAGE = 500;
/** A request waiting for a connection uses up its timeout: 100 messages are ten requests. */
const SENT_AT_ONCE = 100;

/** What has come due since, or will until then. */
const sweepNewlyDue = async (
  table: DynamoTable,
  { since, until }: { since: number; until: number },
  send: Send,
): Promise<number> => {
  const counts = await mapConcurrent(SHARDS, SHARDS_AT_ONCE, async (shard) => {
    let count = 0;
    for (let start: Attributes | undefined, isFirst = true; isFirst || start; isFirst = false) {
      const page = await queryDuePage(table, shard, [since, until], start, PAGE);
      for (const some of splitIntoChunks(page.items, SENT_AT_ONCE)) await send(some);
      count += page.items.length;
      start = page.next;
    }
    return count;
  });
  return counts.reduce((sum, count) => sum + count, 0);
};

/** A minute's share. */
const OVERDUE_PER_SWEEP = 5000;
/** An overdue timer has a message, unless that was lost or left out. While nobody receives, they must not pile up. */
const PASS_EVERY_MS = 600_000;
/** More than this is a backlog: worked off pass by pass, and spread over the minute, so that `due` has time for others. */
const BACKLOG = 1000;
const SPREAD_MS = 60_000;

/** Each sweep goes on where the last one of this process ended, oldest first. */
const createOverdueSweep = (table: DynamoTable, send: Send) => {
  const { clock } = table;
  let left: { shard: string; start?: Attributes }[] = [];
  let pass = { begunAt: -Infinity, count: 0 };
  return async (before: number, deadline: number): Promise<number> => {
    let count = 0;
    if (left.length === 0) {
      const isDue = clock.now() - pass.begunAt >= PASS_EVERY_MS || pass.count > BACKLOG;
      if (!isDue) return 0;
      left = SHARDS.map((shard) => ({ shard }));
      pass = { begunAt: clock.now(), count: 0 };
    }
    while (left.length > 0 && count < OVERDUE_PER_SWEEP && clock.now() < deadline) {
      const some = left.splice(0, SHARDS_AT_ONCE);
      const most = Math.min(PAGE, Math.ceil((OVERDUE_PER_SWEEP - count) / some.length));
      const counts = await mapConcurrent(some, SHARDS_AT_ONCE, async ({ shard, start }) => {
        const page = await queryDuePage(table, shard, [0, before], start, most);
        await sendSpread(page.items, clock.now(), pass.count + count >= BACKLOG ? SPREAD_MS : 0, send);
        if (page.next) left.push({ shard, start: page.next });
        return page.items.length;
      });
      count += counts.reduce((sum, one) => sum + one, 0);
    }
    pass.count += count;
    return count;
  };
};

const sendSpread = async (items: DueMessage[], now: number, spreadMs: number, send: Send): Promise<void> => {
  const spread = items.map((item) => ({ ...item, at: now + Math.floor(Math.random() * spreadMs) }));
  for (const some of splitIntoChunks(spread, SENT_AT_ONCE)) await send(some);
};

/** Both ends included. */
const queryDuePage = async (
  table: DynamoTable,
  shard: string,
  [from, until]: [number, number],
  start: Attributes | undefined,
  most: number,
): Promise<{ items: DueMessage[]; next: Attributes | undefined }> => {
  const { Items: items = [], LastEvaluatedKey: next } = await mapAwsErrors(
    table.dynamo.send(
      new QueryCommand({
        TableName: table.name,
        IndexName: 'due',
        KeyConditionExpression: '#shard = :shard AND #due BETWEEN :from AND :until',
        ExpressionAttributeNames: { '#shard': 'dueShard', '#due': 'due' },
        ExpressionAttributeValues: {
          ':shard': { S: shard },
          ':from': { N: String(from) },
          ':until': { N: String(until) },
        },
        ExclusiveStartKey: start,
        Limit: most,
      }),
    ),
  );
  return { items: items.map(({ pk, sk, due }) => ({ pk: pk?.S ?? '', sk: sk?.S ?? '', due: Number(due?.N) })), next };
};
