import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import { applyChange, type Change, evaluateCondition } from '../../ports/conditions.ts';
import type { Item, NewItem, Records, Ref, Watcher, WriteResult } from '../../ports/records.ts';
import { isMissingMapError, isTransactionConflict, mapAwsErrors, TRANSACTION_CONFLICT_RETRIES } from './aws-errors.ts';
import { type DynamoTable, decodeUnlessExpired, getMany, toAttributeKey } from './dynamo-table.ts';
import { buildAbsentCondition, buildUpdate, buildUpdateCondition, ExpressionBuilder } from './expression-builder.ts';
import { type Attributes, toRecord } from './item-codec.ts';
import { queryItems } from './query-records.ts';
import { isRung } from './ring-on-writes.ts';

/** Usually within a second. */
const INDEX_LAG_MS = 20_000;

export const createDynamoRecords = (table: DynamoTable, listen?: (keys: string[]) => Watcher): Records => ({
  indexLagMs: INDEX_LAG_MS,
  get: (ref) => getItem(table, ref),
  getMany: (refs) => getMany(table, refs),
  query: (query) => queryItems(table, query),
  // Ingest lists nothing.
  list: async (query, options) => (await import('./list-records.ts')).listItems(table, query, options),
  count: async (query) => (await import('./list-records.ts')).countItems(table, query),
  create: (item, token) => createItem(table, item, token),
  update: (ref, change, token, orCreate) => updateItem(table, ref, change, token, orCreate !== undefined),
  delete: async (key) => {
    const removal = new DeleteItemCommand({ TableName: table.name, Key: toAttributeKey(key) });
    await writeWithConflictRetry(() => table.dynamo.send(removal));
  },
  // Most calls need none.
  transact: async (writes, token) => (await import('./transact-records.ts')).transactItems(table, writes, token),
  watch: (pk) => (listen && isRung(pk) ? listen([pk]) : createPollingWatcher(table.clock)),
});

const getItem = async <T extends Item>(table: DynamoTable, ref: Ref<T>): Promise<T | undefined> => {
  const { Item: item } = await mapAwsErrors(
    table.dynamo.send(new GetItemCommand({ TableName: table.name, Key: toAttributeKey(ref), ConsistentRead: true })),
  );
  return decodeUnlessExpired<T>(table, item);
};

const createItem = async <T extends Item>(
  table: DynamoTable,
  item: NewItem<T>,
  token: string,
): Promise<WriteResult<T>> => {
  const at = table.clock.now();
  const stored = table.codec.encode({ ...item, v: 1, token, at });
  const on = new ExpressionBuilder();
  const put = await putItem(table, stored, buildAbsentCondition(on, at), on);
  if (put === 'written') return { outcome: 'written', after: table.codec.decode<T>(stored) };
  return toRejectedResult<T>(table, put, token);
};

const writeWithConflictRetry = <T>(write: () => Promise<T>): Promise<T> =>
  retryOnConflict('the record', TRANSACTION_CONFLICT_RETRIES, () =>
    mapAwsErrors(write()).catch((error: unknown) => {
      if (isTransactionConflict(error)) return undefined;
      throw error;
    }),
  );

const putItem = async (
  table: DynamoTable,
  item: Attributes,
  condition: string,
  on: ExpressionBuilder,
): Promise<'written' | Attributes | undefined> => {
  const command = new PutItemCommand({
    TableName: table.name,
    Item: item,
    ConditionExpression: condition,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...on.build(),
  });
  try {
    await writeWithConflictRetry(() => table.dynamo.send(command));
    return 'written';
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return error.Item;
    throw error;
  }
};

/** A record with the write's own token means success: the first answer was lost. */
const toRejectedResult = <T extends Item>(
  table: DynamoTable,
  stored: Attributes | undefined,
  token: string,
): WriteResult<T> => {
  const current = decodeUnlessExpired<T>(table, stored);
  if (current?.token === token) return { outcome: 'written', after: current, replayed: true };
  return { outcome: 'refused', existing: current };
};

const updateItem = async <T extends Item>(
  table: DynamoTable,
  ref: Ref<T>,
  change: Change,
  token: string,
  orCreate: boolean,
): Promise<WriteResult<T>> => {
  const at = table.clock.now();
  const on = new ExpressionBuilder();
  const condition = buildUpdateCondition(on, change, { token, at });
  const command = new UpdateItemCommand({
    TableName: table.name,
    Key: toAttributeKey(ref),
    UpdateExpression: buildUpdate(on, table.codec, ref, change, { token, at }),
    ConditionExpression:
      orCreate && isAllowedWhenAbsent(change) ? `attribute_not_exists(pk) OR (${condition})` : condition,
    ReturnValues: 'ALL_OLD',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...on.build(),
  });
  try {
    const { Attributes: old } = await writeWithConflictRetry(() => table.dynamo.send(command));
    const before = old && table.codec.decode<T>(old);
    return { outcome: 'written', before, after: computeUpdated(ref, before, change, { token, at }) };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) {
      const hasExpired = error.Item !== undefined && decodeUnlessExpired(table, error.Item) === undefined;
      if (orCreate && hasExpired) return replaceItem(table, ref, change, token);
      return toRejectedResult<T>(table, error.Item, token);
    }
    if (isMissingMapError(error)) return replaceItem(table, ref, change, token, orCreate);
    throw error;
  }
};

/** An absent record is evaluated as one without fields. */
const isAllowedWhenAbsent = (change: Change): boolean => !change.if || evaluateCondition(change.if, {});

/** Must equal DynamoDB's result. */
const computeUpdated = <T extends Item>(
  { pk, sk }: Ref<T>,
  before: T | undefined,
  change: Change,
  stamp: { token: string; at: number },
): T => {
  const after = applyChange(before ?? { pk, sk }, change);
  return toRecord({ ...after, v: (before?.v ?? 0) + 1, ...stamp });
};

const REPLACE_RETRIES = { attempts: 5 };

/** For a missing map or an expired record, which no single expression covers. */
const replaceItem = async <T extends Item>(
  table: DynamoTable,
  ref: Ref<T>,
  change: Change,
  token: string,
  orCreate = true,
): Promise<WriteResult<T>> => {
  return retryOnConflict<WriteResult<T>>(ref.pk, REPLACE_RETRIES, async () => {
    const before = await getItem(table, ref);
    if (before?.token === token) return { outcome: 'written', after: before, replayed: true };
    const isAllowed = before
      ? !change.if || evaluateCondition(change.if, before)
      : orCreate && isAllowedWhenAbsent(change);
    if (!isAllowed) return { outcome: 'refused', existing: before };
    const at = table.clock.now();
    const after = computeUpdated(ref, before, change, { token, at });
    const on = new ExpressionBuilder();
    const unmoved = before ? `${on.addPath('v')} = ${on.addValue(before.v)}` : buildAbsentCondition(on, at);
    const written = await putItem(table, table.codec.encode(after), unmoved, on);
    return written === 'written' ? { outcome: 'written', before, after } : undefined;
  });
};

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1000;

/** A Lambda gets no notice of writes elsewhere. */
const createPollingWatcher = (clock: Clock): Watcher => {
  let pauseMs = FIRST_POLL_MS;
  return {
    next: async (ms, signal) => {
      await sleep(clock, Math.min(ms, pauseMs), signal).done;
      pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_MS);
    },
    close: () => {},
  };
};
