import { QueryCommand } from '@aws-sdk/client-dynamodb';
import type { IndexName, Item, Key, RecordQuery } from '../../ports/records.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { type DynamoTable, decodeUnlessExpired, getMany } from './dynamo-table.ts';
import { ExpressionBuilder } from './expression-builder.ts';
import { type Attributes, INDEX_ATTRIBUTES, listShardKeys } from './item-codec.ts';

export const queryItems = <T extends Item>(table: DynamoTable, query: RecordQuery): Promise<T[]> =>
  query.index ? queryIndex(table, query, query.index) : queryPartition(table, query);

const queryPartition = async <T extends Item>(table: DynamoTable, query: RecordQuery): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of iterateItems(table, query, query.pk)) {
    const record = decodeUnlessExpired<T>(table, item);
    if (record) found.push(record);
    if (found.length === query.limit) break;
  }
  return found;
};

const MAX_BATCH = 100;

/** Indexes project keys only: an update that moves no key costs nothing there. */
const queryIndex = async <T extends Item>(table: DynamoTable, query: RecordQuery, index: IndexName): Promise<T[]> => {
  const shards = listShardKeys(query.pk).map((shard) => iterateItems(table, query, shard));
  const entries = mergeSorted(shards, (item) => getSortKey(item, query), query.newestFirst);
  const found: T[] = [];
  // Many entries may have expired.
  for (let wanted = query.limit; found.length < query.limit; wanted = Math.min(wanted * 2, MAX_BATCH)) {
    const some = await takeNext(entries, wanted);
    found.push(...(await loadRecords<T>(table, query, index, some)));
    if (some.length < wanted) break;
  }
  return found.slice(0, query.limit);
};

async function* iterateItems(table: DynamoTable, query: RecordQuery, pk: string): AsyncGenerator<Attributes> {
  let start: Attributes | undefined;
  do {
    const page = await readPage(table, query, pk, start);
    yield* page.items.filter((item) => isWanted(getSortKey(item, query), query));
    start = page.next;
  } while (start);
}

async function* mergeSorted<T>(
  sources: AsyncGenerator<T>[],
  orderOf: (value: T) => string,
  isReversed = false,
): AsyncGenerator<T> {
  const isBefore = (a: T, b: T): boolean => (isReversed ? orderOf(a) > orderOf(b) : orderOf(a) < orderOf(b));
  const heads = await Promise.all(sources.map(async (source) => ({ source, head: await source.next() })));
  for (;;) {
    let first: { source: AsyncGenerator<T>; head: IteratorResult<T> } | undefined;
    for (const other of heads) {
      if (!other.head.done && (!first || isBefore(other.head.value, first.head.value))) first = other;
    }
    if (!first) return;
    yield first.head.value;
    first.head = await first.source.next();
  }
}

const takeNext = async <T>(source: AsyncGenerator<T>, count: number): Promise<T[]> => {
  const some: T[] = [];
  while (some.length < count) {
    const { done, value } = await source.next();
    if (done) break;
    some.push(value);
  }
  return some;
};

const getKeyNames = ({ index }: RecordQuery) => (index ? INDEX_ATTRIBUTES[index] : { pk: 'pk', sk: 'sk' });
const getSortKey = (item: Attributes, query: RecordQuery): string => item[getKeyNames(query).sk]?.S ?? '';

const isWanted = (sortKey: string, { prefix = '', after }: RecordQuery): boolean =>
  sortKey !== after && sortKey.startsWith(prefix);

const readPage = async (table: DynamoTable, query: RecordQuery, pk: string, start: Attributes | undefined) => {
  const on = new ExpressionBuilder();
  const names = getKeyNames(query);
  const { Items: items = [], LastEvaluatedKey: next } = await mapAwsErrors(
    table.dynamo.send(
      new QueryCommand({
        TableName: table.name,
        IndexName: query.index,
        KeyConditionExpression: `${on.addPath(names.pk)} = ${on.addValue(pk)}${buildSortCondition(on, names.sk, query)}`,
        ScanIndexForward: !query.newestFirst,
        // One more: the range includes the start key.
        Limit: query.limit + 1,
        ConsistentRead: query.index === undefined,
        ExclusiveStartKey: start,
        ...on.build(),
      }),
    ),
  );
  return { items, next };
};

const LAST_CHARACTER = '\u{10ffff}';

/** A query allows one condition on the sort key. */
const buildSortCondition = (
  on: ExpressionBuilder,
  name: string,
  { prefix, after, newestFirst }: RecordQuery,
): string => {
  if (after === undefined && prefix === undefined) return '';
  const sort = on.addPath(name);
  if (after === undefined) return ` AND begins_with(${sort}, ${on.addValue(prefix)})`;
  if (prefix === undefined) return ` AND ${sort} ${newestFirst ? '<=' : '>='} ${on.addValue(after)}`;
  const end = `${prefix}${LAST_CHARACTER}`;
  const [low, high] = newestFirst ? [prefix, after] : [after, end];
  // DynamoDB rejects an inverted range. No key equals `end`, so this one is empty.
  const [from, to] = low > high ? [end, end] : [low, high];
  return ` AND ${sort} BETWEEN ${on.addValue(from)} AND ${on.addValue(to)}`;
};

const loadRecords = async <T extends Item>(
  table: DynamoTable,
  query: RecordQuery,
  index: IndexName,
  items: Attributes[],
): Promise<T[]> => {
  const found = await getMany<T>(table, items.map(toItemKey));
  const records = new Map(found.map((record) => [formatItemKey(record), record]));
  return items.flatMap((item) => {
    const record = records.get(formatItemKey(toItemKey(item)));
    return record?.[index]?.pk === query.pk && record[index].sk === getSortKey(item, query) ? [record] : [];
  });
};

const toItemKey = ({ pk, sk }: Attributes): Key => ({ pk: pk?.S ?? '', sk: sk?.S ?? '' });
const formatItemKey = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);
