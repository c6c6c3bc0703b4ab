import { QueryCommand } from '@aws-sdk/client-dynamodb';
import type { IndexName, Item, Key, Query } from '../../ports/records.ts';
import { type Attributes, INDEX_ATTRIBUTES, shardsOf } from './attributes.ts';
import { Expression } from './expressions.ts';
import { answerOf } from './failures.ts';
import { getMany, live, type Table } from './table.ts';

export const queryItems = <T extends Item>(table: Table, query: Query): Promise<T[]> =>
  query.index ? queryIndex(table, query, query.index) : queryPartition(table, query);

const queryPartition = async <T extends Item>(table: Table, query: Query): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of itemsIn(table, query, query.p)) {
    const record = live<T>(table, item);
    if (record) found.push(record);
    if (found.length === query.limit) break;
  }
  return found;
};

/** The most that is asked for again where what an index points at turned out to be gone. */
const MOST_AT_ONCE = 100;

/**
 * The indexes hold keys only, so that a write which does not move a record costs nothing there. The keys of all shards are put
 * in order first, so that only records are fetched that are wanted; what has moved on since is left out.
 */
const queryIndex = async <T extends Item>(table: Table, query: Query, index: IndexName): Promise<T[]> => {
  const shards = shardsOf(query.p).map((shard) => itemsIn(table, query, shard));
  const entries = inOrder(shards, (item) => sortKeyOf(item, query), query.newestFirst);
  const found: T[] = [];
  // Of an old list much may have expired: more is looked at each time, so that few requests pass all of it.
  for (let wanted = query.limit; found.length < query.limit; wanted = Math.min(wanted * 2, MOST_AT_ONCE)) {
    const some = await next(entries, wanted);
    found.push(...(await whole<T>(table, query, index, some)));
    if (some.length < wanted) break;
  }
  return found.slice(0, query.limit);
};

/** What stands in one place, in its order, read page by page as it is asked for. */
async function* itemsIn(table: Table, query: Query, place: string): AsyncGenerator<Attributes> {
  let start: Attributes | undefined;
  do {
    const page = await readPage(table, query, place, start);
    yield* page.items.filter((item) => isWanted(sortKeyOf(item, query), query));
    start = page.next;
  } while (start);
}

async function* inOrder<T>(
  sources: AsyncGenerator<T>[],
  orderOf: (value: T) => string,
  isReversed = false,
): AsyncGenerator<T> {
  const comesBefore = (a: T, b: T): boolean => (isReversed ? orderOf(a) > orderOf(b) : orderOf(a) < orderOf(b));
  const heads = await Promise.all(sources.map(async (source) => ({ source, head: await source.next() })));
  for (;;) {
    let first: { source: AsyncGenerator<T>; head: IteratorResult<T> } | undefined;
    for (const other of heads) {
      if (!other.head.done && (!first || comesBefore(other.head.value, first.head.value))) first = other;
    }
    if (!first) return;
    yield first.head.value;
    first.head = await first.source.next();
  }
}

const next = async <T>(source: AsyncGenerator<T>, count: number): Promise<T[]> => {
  const some: T[] = [];
  while (some.length < count) {
    const { done, value } = await source.next();
    if (done) break;
    some.push(value);
  }
  return some;
};

const namesOf = ({ index }: Query) => (index ? INDEX_ATTRIBUTES[index] : { p: 'pk', s: 'sk' });
const sortKeyOf = (item: Attributes, query: Query): string => item[namesOf(query).s]?.S ?? '';

const isWanted = (sortKey: string, { prefix = '', after }: Query): boolean =>
  sortKey !== after && sortKey.startsWith(prefix);

const readPage = async (table: Table, query: Query, place: string, start: Attributes | undefined) => {
  const on = new Expression();
  const names = namesOf(query);
  const { Items: items = [], LastEvaluatedKey: next } = await answerOf(
    table.dynamo.send(
      new QueryCommand({
        TableName: table.name,
        IndexName: query.index,
        KeyConditionExpression: `${on.path(names.p)} = ${on.value(place)}${rangeText(on, names.s, query)}`,
        ScanIndexForward: !query.newestFirst,
        // One more, because the range includes the key that it begins behind.
        Limit: query.limit + 1,
        ConsistentRead: query.index === undefined,
        ExclusiveStartKey: start,
        ...on.parts(),
      }),
    ),
  );
  return { items, next };
};

/** The largest character: no sort key that begins with a prefix comes after the prefix and this. */
const LAST = '\u{10ffff}';

/** A query takes one condition on its sort key, so that a prefix and a beginning become one range. */
const rangeText = (on: Expression, name: string, { prefix, after, newestFirst }: Query): string => {
  if (after === undefined && prefix === undefined) return '';
  const sort = on.path(name);
  if (after === undefined) return ` AND begins_with(${sort}, ${on.value(prefix)})`;
  if (prefix === undefined) return ` AND ${sort} ${newestFirst ? '<=' : '>='} ${on.value(after)}`;
  const end = `${prefix}${LAST}`;
  const [low, high] = newestFirst ? [prefix, after] : [after, end];
  // DynamoDB refuses a range that is the wrong way round: there is nothing in it, and no key is where all with the prefix end.
  const [from, to] = low > high ? [end, end] : [low, high];
  return ` AND ${sort} BETWEEN ${on.value(from)} AND ${on.value(to)}`;
};

const whole = async <T extends Item>(
  table: Table,
  query: Query,
  index: IndexName,
  items: Attributes[],
): Promise<T[]> => {
  const found = await getMany<T>(table, items.map(refOf));
  const records = new Map(found.map((record) => [nameOf(record), record]));
  return items.flatMap((item) => {
    const record = records.get(nameOf(refOf(item)));
    return record?.[index]?.p === query.p && record[index].s === sortKeyOf(item, query) ? [record] : [];
  });
};

const refOf = ({ pk, sk }: Attributes): Key => ({ pk: pk?.S ?? '', sk: sk?.S ?? '' });
const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);
