import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { ParleyError } from '../../errors.ts';
import { applied, type Change, holds } from '../../ports/conditions.ts';
import type { Fresh, Item, Records, Ref, Written } from '../../ports/records.ts';
import { type Attributes, asRecord } from './attributes.ts';
import { absentText, changeableText, Expression, updateText } from './expressions.ts';
import { answerOf, isInTheWay, isMissingMap, pastOthers } from './failures.ts';
import { pollingListener } from './listener.ts';
import { queryItems } from './queries.ts';
import { getMany, keyOf, live, type Table } from './table.ts';
import { transactItems } from './transactions.ts';

export const recordsOn = (table: Table): Records => ({
  get: (ref) => get(table, ref),
  getMany: (refs) => getMany(table, refs),
  query: (query) => queryItems(table, query),
  create: (item, token) => create(table, item, token),
  update: (ref, change, token, orCreate) => update(table, ref, change, token, orCreate !== undefined),
  remove: async (key) => {
    const removal = new DeleteItemCommand({ TableName: table.name, Key: keyOf(key) });
    await written(table, () => table.dynamo.send(removal));
  },
  transact: (writes, token) => transactItems(table, writes, token),
  listen: () => pollingListener(table.clock),
});

const get = async <T extends Item>(table: Table, ref: Ref<T>): Promise<T | undefined> => {
  const { Item: item } = await answerOf(
    table.dynamo.send(new GetItemCommand({ TableName: table.name, Key: keyOf(ref), ConsistentRead: true })),
  );
  return live<T>(table, item);
};

const create = async <T extends Item>(table: Table, item: Fresh<T>, token: string): Promise<Written<T>> => {
  const at = table.clock.now();
  const stored = table.shelf.stored({ ...item, v: 1, token, at });
  const on = new Expression();
  const met = await put(table, stored, absentText(on, at), on);
  if (met === 'written') return { outcome: 'written', after: table.shelf.record<T>(stored) };
  return refusal<T>(table, met, token);
};

/** A single write, made again where a transaction was in its way. */
const written = <T>(table: Table, write: () => Promise<T>): Promise<T> =>
  pastOthers(table.clock, () =>
    answerOf(write()).catch((error: unknown) => {
      if (isInTheWay(error)) return undefined;
      throw error;
    }),
  );

/** The item that kept it from being written, if there was one. */
const put = async (
  table: Table,
  item: Attributes,
  condition: string,
  on: Expression,
): Promise<'written' | Attributes | undefined> => {
  const command = new PutItemCommand({
    TableName: table.name,
    Item: item,
    ConditionExpression: condition,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...on.parts(),
  });
  try {
    await written(table, () => table.dynamo.send(command));
    return 'written';
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return error.Item;
    throw error;
  }
};

/** A write that meets its own token has succeeded. */
const refusal = <T extends Item>(table: Table, met: Attributes | undefined, token: string): Written<T> => {
  const current = live<T>(table, met);
  if (current?.token === token) return { outcome: 'written', after: current, again: true };
  return { outcome: 'refused', current };
};

const update = async <T extends Item>(
  table: Table,
  ref: Ref<T>,
  change: Change,
  token: string,
  orCreate: boolean,
): Promise<Written<T>> => {
  const at = table.clock.now();
  const on = new Expression();
  const condition = changeableText(on, change, { token, at });
  const command = new UpdateItemCommand({
    TableName: table.name,
    Key: keyOf(ref),
    UpdateExpression: updateText(on, table.shelf, ref, change, { token, at }),
    ConditionExpression: orCreate && allowsNew(change) ? `attribute_not_exists(pk) OR (${condition})` : condition,
    ReturnValues: 'ALL_OLD',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...on.parts(),
  });
  try {
    const { Attributes: old } = await written(table, () => table.dynamo.send(command));
    const before = old && table.shelf.record<T>(old);
    return { outcome: 'written', before, after: changed(ref, before, change, { token, at }) };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) {
      const hasExpired = error.Item !== undefined && live(table, error.Item) === undefined;
      if (orCreate && hasExpired) return replaceWhole(table, ref, change, token);
      return refusal<T>(table, error.Item, token);
    }
    if (isMissingMap(error)) return replaceWhole(table, ref, change, token, orCreate);
    throw error;
  }
};

/** A record that is not there is judged as one without fields. */
const allowsNew = (change: Change): boolean => !change.if || holds(change.if, {});

/** The same as DynamoDB makes of it, so that one answer tells both sides of the change. */
const changed = <T extends Item>(
  { pk, sk }: Ref<T>,
  before: T | undefined,
  change: Change,
  stamp: { token: string; at: number },
): T => {
  const after = applied(before ?? { pk, sk }, change);
  return asRecord({ ...after, v: (before?.v ?? 0) + 1, ...stamp });
};

/** Where no single expression can say it: a map is missing that the change writes into, or the record has expired. */
const replaceWhole = async <T extends Item>(
  table: Table,
  ref: Ref<T>,
  change: Change,
  token: string,
  orCreate = true,
): Promise<Written<T>> => {
  for (let attempt = 1; attempt <= MOST_REPLACEMENTS; attempt++) {
    const before = await get(table, ref);
    if (before?.token === token) return { outcome: 'written', after: before, again: true };
    const isAllowed = before ? !change.if || holds(change.if, before) : orCreate && allowsNew(change);
    if (!isAllowed) return { outcome: 'refused', current: before };
    const at = table.clock.now();
    const after = changed(ref, before, change, { token, at });
    const on = new Expression();
    const unmoved = before ? `${on.path('v')} = ${on.value(before.v)}` : absentText(on, at);
    if ((await put(table, table.shelf.stored(after), unmoved, on)) === 'written') {
      return { outcome: 'written', before, after };
    }
  }
  throw new ParleyError('conflict', `Too many writes to ${ref.pk} at once. Try again.`, { retry: 'later' });
};

const MOST_REPLACEMENTS = 5;
