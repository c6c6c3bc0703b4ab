import {
  type CancellationReason,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { type Condition, evaluateCondition } from '../../ports/conditions.ts';
import type { TransactionResult, TransactionWrite } from '../../ports/records.ts';
import { mapAwsErrors, TRANSACTION_CONFLICT_RETRIES } from './aws-errors.ts';
import { type DynamoTable, decodeUnlessExpired, toAttributeKey } from './dynamo-table.ts';
import {
  buildAbsentCondition,
  buildCondition,
  buildPresentCondition,
  buildUpdate,
  buildUpdateCondition,
  ExpressionBuilder,
  type WriteStamp,
} from './expression-builder.ts';

export const transactItems = (
  table: DynamoTable,
  writes: TransactionWrite[],
  token: string,
): Promise<TransactionResult> =>
  retryOnConflict('these records', TRANSACTION_CONFLICT_RETRIES, async () => {
    const reasons = await sendTransaction(table, writes, { token, at: table.clock.now() });
    return reasons === 'written' ? { outcome: 'written' } : toTransactionResult(table, reasons, token);
  });

const sendTransaction = async (
  table: DynamoTable,
  writes: TransactionWrite[],
  stamp: WriteStamp,
): Promise<'written' | CancellationReason[]> => {
  const parts = writes.map((write) => buildTransactItem(table, write, stamp));
  try {
    await mapAwsErrors(table.dynamo.send(new TransactWriteItemsCommand({ TransactItems: parts })));
    return 'written';
  } catch (error) {
    if (error instanceof TransactionCanceledException) return error.CancellationReasons ?? [];
    throw error;
  }
};

/** Undefined on a conflict. */
const toTransactionResult = (
  table: DynamoTable,
  reasons: CancellationReason[],
  token: string,
): TransactionResult | undefined => {
  const current = reasons.map(({ Item: item }) => decodeUnlessExpired(table, item));
  if (current.some((record) => record?.token === token)) return { outcome: 'written' };
  const at = reasons.findIndex(({ Code: code }) => code === 'ConditionalCheckFailed');
  if (at >= 0) return { outcome: 'refused', at, existing: current[at] };
  const fault = reasons.find(
    ({ Code: code }) => code === 'ValidationError' || code === 'ItemCollectionSizeLimitExceeded',
  );
  if (fault) throw new Error(`the transaction cannot be made: ${fault.Message}`);
  return undefined;
};

const buildTransactItem = (table: DynamoTable, write: TransactionWrite, stamp: WriteStamp): TransactWriteItem => {
  const on = new ExpressionBuilder();
  const { at } = stamp;
  const common = { TableName: table.name, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  switch (write.kind) {
    case 'create': {
      const item = table.codec.encode(Object.assign({ v: 1, ...stamp }, write.item));
      return { Put: { ...common, Item: item, ConditionExpression: buildAbsentCondition(on, at), ...on.build() } };
    }
    case 'update': {
      const { key, change } = write;
      const condition = buildUpdateCondition(on, change, stamp);
      const update = buildUpdate(on, table.codec, key, change, stamp);
      return {
        Update: {
          ...common,
          Key: toAttributeKey(key),
          UpdateExpression: update,
          ConditionExpression: condition,
          ...on.build(),
        },
      };
    }
    case 'remove': {
      const condition = write.if && buildConditionOrAbsent(on, write.if, at);
      return { Delete: { ...common, Key: toAttributeKey(write.key), ConditionExpression: condition, ...on.build() } };
    }
    case 'check':
      return {
        ConditionCheck: {
          ...common,
          Key: toAttributeKey(write.key),
          ConditionExpression: buildConditionOrAbsent(on, write.if, at),
          ...on.build(),
        },
      };
  }
};

/** An absent or expired record is evaluated as one without fields. */
const buildConditionOrAbsent = (on: ExpressionBuilder, condition: Condition, now: number): string => {
  const whenPresent = `(${buildPresentCondition(on, now)} AND ${buildCondition(on, condition)})`;
  return evaluateCondition(condition, {}) ? `${buildAbsentCondition(on, now)} OR ${whenPresent}` : whenPresent;
};
