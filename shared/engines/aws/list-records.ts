import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { ParleyError } from '../../kernel/errors.ts';
import { and, type Condition, evaluateCondition } from '../../ports/conditions.ts';
import {
  type Count,
  LIST_CURSOR,
  type ListOptions,
  type ListPage,
  type ListQuery,
  MAX_COUNT,
} from '../../ports/lists.ts';
import type { IndexName, Item, Key } from '../../ports/records.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { type DynamoTable, getMany } from './dynamo-table.ts';
import { buildCondition, ExpressionBuilder } from './expression-builder.ts';
import { type Attributes, INDEX_ATTRIBUTES, LIST_ATTRIBUTES, listShardKeys } from './item-codec.ts';

/** Index entries that one call reads: 1 MB at the most. */
const MAX_SCANNED = 4000;
/** Records that one call reads. */
const MAX_LOADED = 400;
const MIN_LOADED_AT_ONCE = 20;
const MAX_LOADED_AT_ONCE = 100;
const PAGE_ENTRIES = 250;

const LIST_INDEX = 'byCreation';
const LAST_CHARACTER = '\u{10ffff}';

/** A part of an index that is whole down to `end`; without `end`, all that is left. */
interface Section {
  entries: (Key & { place: string })[];
  end?: string;
  scanned: number;
}

export const listItems = async <T extends Item>(
  table: DynamoTable,
  query: ListQuery<T>,
  { after, limit }: ListOptions,
): Promise<ListPage<T>> => {
  const records: T[] = [];
  for await (const { record, place, isLast } of iterateMatches(table, query, {
    after,
    wanted: limit,
    maxLoaded: MAX_LOADED,
  })) {
    if (record) records.push(record);
    if (isLast || records.length === limit) return { records, cursor: place };
  }
  return { records };
};

export const countItems = async <T extends Item>(table: DynamoTable, query: ListQuery<T>): Promise<Count> => {
  let value = 0;
  const all = { after: undefined, wanted: MAX_COUNT, maxLoaded: MAX_COUNT + 1 };
  for await (const { record, isLast } of iterateMatches(table, query, all)) {
    if (record && value === MAX_COUNT) return { value, isExact: false };
    if (record) value += 1;
    if (isLast) return { value, isExact: false };
  }
  return { value, isExact: true };
};

interface Step<T> {
  record?: T;
  /** Up to which all was looked at. */
  place: string;
  /** The call has read as much as it may. */
  isLast?: true;
}

async function* iterateMatches<T extends Item>(
  table: DynamoTable,
  query: ListQuery<T>,
  { after, wanted, maxLoaded }: { after: string | undefined; wanted: number; maxLoaded: number },
): AsyncGenerator<Step<T>> {
  const atOnce = Math.min(MAX_LOADED_AT_ONCE, Math.max(MIN_LOADED_AT_ONCE, wanted));
  if (after !== undefined && !LIST_CURSOR.test(after)) throw invalidCursorError();
  let scanned = 0;
  let loaded = 0;
  for (let from = after; ; ) {
    const section = await readSection(table, query, from);
    scanned += section.scanned;
    for (let at = 0; at < section.entries.length; at += atOnce) {
      const chunk = section.entries.slice(at, at + atOnce);
      const found = await getMany<T>(table, chunk);
      const records = new Map(found.map((record) => [record.pk, record]));
      for (const { pk, place } of chunk) {
        const record = records.get(pk);
        yield { place, ...(record && isMatch(query, record, place) && { record }) };
      }
      loaded += chunk.length;
      const place = chunk.at(-1)?.place;
      const isEnd = section.end === undefined && at + atOnce >= section.entries.length;
      if (loaded >= maxLoaded && place !== undefined && !isEnd) yield { place, isLast: true };
    }
    if (section.end === undefined) return;
    if (scanned >= MAX_SCANNED) yield { place: section.end, isLast: true };
    from = section.end;
  }
}

const isMatch = <T extends Item>(query: ListQuery<T>, record: T, place: string): boolean => {
  const { where, toFields, since = 0, until = Infinity, within, kind } = query;
  if (record.sk !== kind || (within && record[within.index]?.sk !== place)) return false;
  const fields = toFields(record);
  return (
    fields.createdAt >= since &&
    fields.createdAt < until &&
    record.pk.startsWith(getIdPrefix(query)) &&
    evaluateCondition(where, fields)
  );
};

const getIdPrefix = <T extends Item>({ project, kind, idPrefix = '' }: ListQuery<T>): string =>
  `${project}#${kind}#${idPrefix}`;

/** One page of each shard. What lies behind the end of the nearest page is read again. */
const readSection = async <T extends Item>(
  table: DynamoTable,
  query: ListQuery<T>,
  after: string | undefined,
): Promise<Section> => {
  const shards = listShardKeys(query.within?.pk ?? `${query.project}#${query.kind}`);
  const pages = await Promise.all(shards.map((shard) => readPage(table, query, shard, after)));
  const ends = pages.flatMap(({ end }) => end ?? []).sort();
  const end = ends.at(-1);
  const entries = pages
    .flatMap((page) => page.entries)
    .filter(({ place }) => end === undefined || place >= end)
    .sort((a, b) => (a.place < b.place ? 1 : -1));
  return { entries, end, scanned: pages.reduce((sum, page) => sum + page.scanned, 0) };
};

const readPage = async <T extends Item>(
  table: DynamoTable,
  query: ListQuery<T>,
  shard: string,
  after: string | undefined,
): Promise<Section> => {
  const on = new ExpressionBuilder();
  const names = query.within ? INDEX_ATTRIBUTES[query.within.index] : LIST_ATTRIBUTES;
  const bounds = getBounds(query, after);
  if (bounds.low > bounds.high) return { entries: [], scanned: 0 };
  const key = `${on.addPath(names.pk)} = ${on.addValue(shard)}`;
  const range = `${on.addPath(names.sk)} BETWEEN ${on.addValue(bounds.low)} AND ${on.addValue(bounds.high)}`;
  const answer = await mapAwsErrors(
    table.dynamo.send(
      new QueryCommand({
        TableName: table.name,
        IndexName: toIndexName(query.within?.index),
        KeyConditionExpression: `${key} AND ${range}`,
        FilterExpression: buildFilter(table, on, query),
        ScanIndexForward: false,
        Limit: PAGE_ENTRIES,
        ...on.build(),
      }),
    ),
  );
  const entries = (answer.Items ?? []).map((item) => ({
    pk: item.pk?.S ?? '',
    sk: item.sk?.S ?? '',
    place: getPlace(item, names.sk),
  }));
  return {
    entries: entries.filter(({ place }) => place !== after),
    end: answer.LastEvaluatedKey && getPlace(answer.LastEvaluatedKey, names.sk),
    scanned: answer.ScannedCount ?? 0,
  };
};

const getPlace = (item: Attributes, name: string): string => item[name]?.S ?? '';
const toIndexName = (index: IndexName | undefined): string => index ?? LIST_INDEX;

/** Of the times that an index of another order has, nothing is known. */
const getBounds = <T extends Item>(
  { since = 0, until = Infinity, within }: ListQuery<T>,
  after: string | undefined,
): { low: string; high: string } => {
  const low = within ? '' : formatTime(since);
  const latest = within || until === Infinity ? LAST_CHARACTER : `${formatTime(until - 1)}${LAST_CHARACTER}`;
  return { low: low === '' ? '0' : low, high: after !== undefined && after < latest ? after : latest };
};

const formatTime = (at: number): string => String(Math.max(0, at)).padStart(14, '0');

/** What the index knows: the other parts are looked for in the records. */
const buildFilter = <T extends Item>(
  table: DynamoTable,
  on: ExpressionBuilder,
  query: ListQuery<T>,
): string | undefined => {
  const prefix =
    query.idPrefix === undefined ? [] : [`begins_with(${on.addPath('pk')}, ${on.addValue(getIdPrefix(query))})`];
  const fixed = query.within ? undefined : pickFixed(query.where, table.codec.getListedFields(query.kind));
  const filters = [...prefix, ...(fixed ? [buildCondition(on, fixed)] : [])];
  return filters.length > 0 ? filters.join(' AND ') : undefined;
};

/** A condition that every match meets, of the fields that the index has. */
const pickFixed = (where: Condition, fields: Readonly<Record<string, string>>): Condition | undefined => {
  if ('all' in where) {
    const parts = where.all.flatMap((part) => pickFixed(part, fields) ?? []);
    return parts.length > 0 ? and(...parts) : undefined;
  }
  if ('any' in where) {
    const parts = where.any.map((part) => pickFixed(part, fields));
    const known = parts.flatMap((part) => part ?? []);
    return known.length === parts.length && known.length > 0 ? { any: known } : undefined;
  }
  const field = Object.hasOwn(fields, where.field) ? fields[where.field] : undefined;
  return field === undefined ? undefined : { ...where, field };
};

const invalidCursorError = (): ParleyError =>
  new ParleyError('invalid_request', 'The cursor is not one that an earlier page gave.');
