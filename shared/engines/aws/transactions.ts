import {
  type CancellationReason,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { type Condition, holds } from '../../ports/conditions.ts';
import type { Transacted, Write } from '../../ports/records.ts';
import {
  absentText,
  changeableText,
  conditionText,
  Expression,
  presentText,
  type Stamp,
  updateText,
} from './expressions.ts';
import { answerOf, pastOthers } from './failures.ts';
import { keyOf, live, type Table } from './table.ts';

export const transactItems = (table: Table, writes: Write[], token: string): Promise<Transacted> =>
  pastOthers(table.clock, async () => {
    const reasons = await attemptOnce(table, writes, { token, at: table.clock.now() });
    return reasons === 'written' ? { outcome: 'written' } : verdictOf(table, reasons, token);
  });

const attemptOnce = async (table: Table, writes: Write[], stamp: Stamp): Promise<'written' | CancellationReason[]> => {
  const parts = writes.map((write) => partOf(table, write, stamp));
  try {
    await answerOf(table.dynamo.send(new TransactWriteItemsCommand({ TransactItems: parts })));
    return 'written';
  } catch (error) {
    if (error instanceof TransactionCanceledException) return error.CancellationReasons ?? [];
    throw error;
  }
};

/** Undefined where nothing was decided: others were in the way. */
const verdictOf = (table: Table, reasons: CancellationReason[], token: string): Transacted | undefined => {
  const met = reasons.map(({ Item: item }) => live(table, item));
  if (met.some((record) => record?.token === token)) return { outcome: 'written' };
  const at = reasons.findIndex(({ Code: code }) => code === 'ConditionalCheckFailed');
  if (at >= 0) return { outcome: 'refused', at, current: met[at] };
  const fault = reasons.find(
    ({ Code: code }) => code === 'ValidationError' || code === 'ItemCollectionSizeLimitExceeded',
  );
  if (fault) throw new Error(`the transaction cannot be made: ${fault.Message}`);
  return undefined;
};

const partOf = (table: Table, write: Write, stamp: Stamp): TransactWriteItem => {
  const on = new Expression();
  const { at } = stamp;
  const common = { TableName: table.name, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  switch (write.kind) {
    case 'create': {
      const item = table.shelf.stored(Object.assign({ v: 1, ...stamp }, write.item));
      return { Put: { ...common, Item: item, ConditionExpression: absentText(on, at), ...on.parts() } };
    }
    case 'update': {
      const { key, change } = write;
      const condition = changeableText(on, change, stamp);
      const update = updateText(on, table.shelf, key, change, stamp);
      return {
        Update: { ...common, Key: keyOf(key), UpdateExpression: update, ConditionExpression: condition, ...on.parts() },
      };
    }
    case 'remove': {
      const condition = write.if && presentOrNot(on, write.if, at);
      return { Delete: { ...common, Key: keyOf(write.key), ConditionExpression: condition, ...on.parts() } };
    }
    case 'check':
      return {
        ConditionCheck: {
          ...common,
          Key: keyOf(write.key),
          ConditionExpression: presentOrNot(on, write.if, at),
          ...on.parts(),
        },
      };
  }
};

/** What is absent or has expired is judged as a record without fields. */
const presentOrNot = (on: Expression, condition: Condition, now: number): string => {
  const whenPresent = `(${presentText(on, now)} AND ${conditionText(on, condition)})`;
  return holds(condition, {}) ? `${absentText(on, now)} OR ${whenPresent}` : whenPresent;
};
