import { QueryCommand } from '@aws-sdk/client-dynamodb';
import type { Item, Key, Query } from '../../ports/records.ts';
import { type Attributes, INDEX_ATTRIBUTES, shardsOf } from './attributes.ts';
import { Expression } from './expressions.ts';
import { answerOf } from './failures.ts';
import { getMany, live, type Table } from './records.ts';

export const queryItems = async <T extends Item>(table: Table, query: Query): Promise<T[]> => {
  if (!query.index) return readPlace(table, query, query.p);
  const shards = await Promise.all(shardsOf(query.p).map((shard) => readPlace<T>(table, query, shard)));
  const order = (record: T): string => sortKeyOf(query, record) ?? '';
  const sorted = shards.flat().toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
  return (query.newestFirst ? sorted.toReversed() : sorted).slice(0, query.limit);
};

/**
 * The indexes hold keys only, so that a write which does not move a record costs nothing there; what they point at is
 * fetched by key, and what has moved on since is left out.
 */
const readPlace = async <T extends Item>(table: Table, query: Query, place: string): Promise<T[]> => {
  const found: T[] = [];
  let start: Attributes | undefined;
  do {
    const page = await readPage(table, query, place, start);
    const records = query.index
      ? await whole<T>(table, query, page.items)
      : page.items.flatMap((item) => live<T>(table, item) ?? []);
    found.push(...records.filter((record) => isWanted(query, sortKeyOf(query, record))));
    start = page.next;
  } while (start && found.length < query.limit);
  return found.slice(0, query.limit);
};

const sortKeyOf = ({ index }: Query, record: Item): string | undefined => (index ? record[index]?.s : record.sk);

const isWanted = ({ prefix = '', after }: Query, sortKey = ''): boolean =>
  sortKey !== after && sortKey.startsWith(prefix);

const readPage = async (table: Table, query: Query, place: string, start: Attributes | undefined) => {
  const on = new Expression();
  const names = query.index ? INDEX_ATTRIBUTES[query.index] : { p: 'pk', s: 'sk' };
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
  const [low, high] = newestFirst ? [prefix, after] : [after, `${prefix}${LAST}`];
  // Behind all that has the prefix there is nothing, and DynamoDB refuses a range that is the wrong way round.
  return ` AND ${sort} BETWEEN ${on.value(low)} AND ${on.value(low > high ? low : high)}`;
};

const whole = async <T extends Item>(table: Table, query: Query, items: Attributes[]): Promise<T[]> => {
  const keys = items.map((item): Key => ({ pk: item.pk?.S ?? '', sk: item.sk?.S ?? '' }));
  const records = new Map((await getMany<T>(table, keys)).map((record) => [nameOf(record), record]));
  return keys.flatMap((key) => {
    const record = records.get(nameOf(key));
    return record && query.index && record[query.index]?.p === query.p ? [record] : [];
  });
};

const nameOf = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);
