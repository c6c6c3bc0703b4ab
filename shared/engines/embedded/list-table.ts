import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ParleyError } from '../../kernel/errors.ts';
import { evaluateCondition } from '../../ports/conditions.ts';
import {
  type Count,
  LIST_CURSOR,
  type ListedFields,
  type ListedKinds,
  type ListOptions,
  type ListPage,
  type ListQuery,
  MAX_COUNT,
} from '../../ports/lists.ts';
import type { Item, Key, NewItem } from '../../ports/records.ts';
import type { Database } from './database.ts';
import {
  buildSource,
  type FoundPlace,
  INDEXED_FIELDS,
  isIndexed,
  type Place,
  type SeekContext,
} from './list-sources.ts';

/** One takes 2 to 3 µs: at most 40 ms of a call. */
const MAX_SEEKS = 15_000;
/** A load takes as long as so many. */
const SEEKS_PER_LOAD = 5;
/** So many rows of a count are held against the time together. */
const IDS_PER_CHECK = 64;
/** Ids with a prefix: more are looked for in the order of time. */
const MAX_PREFIXED = 1000;

const COLUMNS = ['id', 'scope', 'created', 'expires', ...INDEXED_FIELDS] as const;
/** Those that a record may change; the others stay with the row number. */
const CHANGING = ['created', 'expires', 'status', 'addressee', 'holder', 'error'] as const;
const UPSERT = `INSERT INTO listed (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (id) DO UPDATE SET ${CHANGING.map((column) => `${column} = excluded.${column}`).join(', ')}`;

const LAST_CHARACTER = '\u{10ffff}';

/** The row of a record in its part of the list: no row of a record itself is negative. */
const toPartId = (id: number): number => -id;
/** The row of what is derived from a record. So many records there are never. */
const FIRST_DERIVED_ID = 2 ** 50;
const toDerivedId = (id: number): number => FIRST_DERIVED_ID + id;
const isDerivedId = (id: number): boolean => id >= FIRST_DERIVED_ID;
const toRecordId = (id: number): number => (isDerivedId(id) ? id - FIRST_DERIVED_ID : Math.abs(id));
const listRowIds = (id: number): number[] => [id, toPartId(id), toDerivedId(id)];

/**
 * What lists and counts read: a row for each listed record, and one more if it is in a part of the list, or has something derived. It follows from the records, so the journal has nothing of it.
 * Rows are written late, and together: before SQLite commits, and before a read. After a crash, the records that the
 * journal brings back are listed again.
 */
export class ListTable {
  readonly #db: Database;
  readonly #kinds: ListedKinds;
  readonly #readers = new Map<string, StatementSync>();
  readonly #upsert: StatementSync;
  readonly #delete: StatementSync;
  readonly #unlisted = new Map<number, Item>();

  constructor(db: Database, kinds: ListedKinds) {
    this.#db = db;
    this.#kinds = kinds;
    this.#upsert = db.sql.prepare(UPSERT);
    this.#delete = db.sql.prepare('DELETE FROM listed WHERE id = ?');
    db.onBeforeRotation(() => this.flush());
  }

  onWritten(id: number, item: Item): void {
    if (Object.hasOwn(this.#kinds, item.sk)) this.#unlisted.set(id, item);
  }

  /** At once: another record may get the row number. */
  onDeleted(id: number, item: Item): void {
    if (!Object.hasOwn(this.#kinds, item.sk)) return;
    this.#unlisted.delete(id);
    for (const row of listRowIds(id)) this.#db.runDerived(this.#delete, row);
  }

  flush(): void {
    for (const id of this.#db.takeReplayedRecords()) {
      for (const row of listRowIds(id)) this.#db.runDerived(this.#delete, row);
      const item = this.#unlisted.get(id) ?? this.#load(id);
      if (item) this.onWritten(id, item);
    }
    for (const [id, item] of this.#unlisted) {
      const { rows, hasLeftPart } = toRows(id, item, this.#kinds);
      for (const row of rows) this.#db.runDerived(this.#upsert, ...row);
      if (hasLeftPart) this.#db.runDerived(this.#delete, toPartId(id));
    }
    this.#unlisted.clear();
  }

  list<T extends Item>(query: ListQuery<T>, { after, limit }: ListOptions, now: number): ListPage<T> {
    this.flush();
    const records: T[] = [];
    const found = this.#find(query, after, true);
    for (const place of found) {
      if (!place.isMatch) return { records, cursor: formatCursor({ ...place, id: place.id + 1 }) };
      const record = this.#loadMatch(query, place.id, now);
      if (!record) continue;
      records.push(record);
      if (records.length === limit) return { records, cursor: formatCursor(place) };
    }
    return { records };
  }

  count<T extends Item>(query: ListQuery<T>, now: number): Count {
    this.flush();
    const { part, since, until, idPrefix } = query;
    const isInRange = part === undefined || (since === undefined && until === undefined);
    const isKnown = isIndexed(query.where) && idPrefix === undefined && isInRange;
    let value = 0;
    let unchecked: number[] = [];
    for (const { id, isMatch } of this.#find(query, undefined, !isKnown)) {
      if (!isMatch) return { value: value + this.#countLive(unchecked, now), isExact: false };
      if (!isKnown) value += this.#loadMatch(query, id, now) ? 1 : 0;
      else if (unchecked.push(id) === IDS_PER_CHECK) {
        value += this.#countLive(unchecked, now);
        unchecked = [];
      }
      if (value > MAX_COUNT) return { value: MAX_COUNT, isExact: false };
    }
    value += this.#countLive(unchecked, now);
    return { value: Math.min(value, MAX_COUNT), isExact: value <= MAX_COUNT };
  }

  *#find<T extends Item>(query: ListQuery<T>, after: string | undefined, isLoaded: boolean): Generator<FoundPlace> {
    // The times of a part are others.
    const {
      since = 0,
      until = Number.MAX_SAFE_INTEGER,
    }: Pick<ListQuery<T>, 'since' | 'until'> = query.part === undefined ? query : {};
    const first: Place = { created: until - 1, id: Number.MAX_SAFE_INTEGER };
    const from = after === undefined ? first : parseCursor(after);
    const start = from.created < until ? from : first;
    const few = query.idPrefix === undefined ? undefined : this.#findByPrefix(query, query.idPrefix);
    if (few) {
      for (const place of few) {
        if (place.created < since) return;
        const isBehind = place.created < start.created || (place.created === start.created && place.id <= start.id);
        if (isBehind) yield { ...place, isMatch: true };
      }
      return;
    }
    const context: SeekContext = {
      scope: formatScope(query.project, query.part ?? query.kind),
      seeksLeft: MAX_SEEKS,
      getStatement: (field) => this.#prepareSeek(field),
    };
    const source = buildSource(context, query.where);
    for (let at = start; ; ) {
      const found = source(at);
      if (!found || found.created < since) return;
      yield found;
      if (!found.isMatch) return;
      if (isLoaded) context.seeksLeft -= SEEKS_PER_LOAD;
      at = { created: found.created, id: found.id - 1 };
    }
  }

  /** In order, or undefined for too many. */
  #findByPrefix<T extends Item>({ project, kind, part }: ListQuery<T>, prefix: string): Place[] | undefined {
    const next = this.#prepare('SELECT pk FROM records WHERE pk > ? AND pk < ? ORDER BY pk LIMIT 1');
    const first = this.#prepare('SELECT pk FROM records WHERE pk >= ? AND pk < ? ORDER BY pk LIMIT 1');
    const get = this.#prepare(
      `SELECT listed.id, created FROM records JOIN listed ON listed.id = ${part === undefined ? '' : '-'}records.id WHERE pk = ? AND sk = ?`,
    );
    const from = `${project}#${kind}#${prefix}`;
    const end = from + LAST_CHARACTER;
    const places: Place[] = [];
    let seen = 0;
    for (let row = first.get(from, end); row; row = next.get(String(row.pk), end)) {
      seen += 1;
      if (seen > MAX_PREFIXED) return undefined;
      const listed = get.get(String(row.pk), kind);
      if (listed) places.push({ created: Number(listed.created), id: Number(listed.id) });
    }
    return places.sort((a, b) => b.created - a.created || b.id - a.id);
  }

  #loadMatch<T extends Item>(query: ListQuery<T>, id: number, now: number): T | undefined {
    const record = this.#load<T>(id);
    return record && isMatch(query, record, now) ? record : undefined;
  }

  #load<T extends Item>(id: number): T | undefined {
    const row = this.#prepare('SELECT body FROM records WHERE id = ?').get(toRecordId(id));
    const record = row && JSON.parse(String(row.body));
    return record && isDerivedId(id) ? (toListedFields(record, this.#kinds).derived as T | undefined) : record;
  }

  #countLive(ids: readonly number[], now: number): number {
    if (ids.length === 0) return 0;
    const places = ids.map(() => '?').join();
    const statement = this.#prepare(
      `SELECT count(*) AS count FROM listed WHERE id IN (${places}) AND (expires IS NULL OR expires > ?)`,
    );
    return Number(statement.get(...ids, now)?.count);
  }

  #prepareSeek(field: string): StatementSync {
    const equal = field === 'created' ? '' : `AND ${field} = ?`;
    return this.#prepare(
      `SELECT created, id FROM listed INDEXED BY listed_${field}
       WHERE scope = ? ${equal} AND (created, id) <= (?, ?) ORDER BY created DESC, id DESC LIMIT ?`,
    );
  }

  #prepare(text: string): StatementSync {
    const known = this.#readers.get(text);
    if (known) return known;
    const reader = this.#db.sql.prepare(text);
    this.#readers.set(text, reader);
    return reader;
  }
}

const isMatch = <T extends Item>(query: ListQuery<T>, record: T, now: number): boolean =>
  (record.expires === undefined || record.expires > now) &&
  (query.idPrefix === undefined ||
    record.pk.startsWith(`${formatScope(query.project, query.kind)}#${query.idPrefix}`)) &&
  evaluateListCondition(query, record);

const evaluateListCondition = <T extends Item>(query: ListQuery<T>, record: T): boolean => {
  const { where, toFields, since = 0, until = Number.POSITIVE_INFINITY } = query;
  const fields = toFields(record);
  return fields.createdAt >= since && fields.createdAt < until && evaluateCondition(where, fields);
};

const formatScope = (project: string, kind: string): string => `${project}#${kind}`;
const getProject = ({ pk }: Pick<Key, 'pk'>): string => pk.slice(0, pk.indexOf('#'));
const getScope = ({ pk }: Pick<Key, 'pk'>): string => pk.slice(0, pk.indexOf('#', pk.indexOf('#') + 1));

interface ListRows {
  rows: SQLInputValue[][];
  hasLeftPart: boolean;
}

const toRows = (id: number, item: Item, kinds: ListedKinds): ListRows => {
  const fields = toListedFields(item, kinds);
  const { part, derived } = fields;
  const indexed = INDEXED_FIELDS.map((field) => fields[field] ?? null);
  const expires = item.expires ?? null;
  const rows = [[id, getScope(item), fields.createdAt, expires, ...indexed]];
  if (typeof part === 'object')
    rows.push([toPartId(id), formatScope(getProject(item), part.name), part.at, expires, ...indexed]);
  if (derived) {
    const own = toListedFields(derived, kinds);
    const ownIndexed = INDEXED_FIELDS.map((field) => own[field] ?? null);
    rows.push([toDerivedId(id), getScope(derived), own.createdAt, derived.expires ?? null, ...ownIndexed]);
  }
  return { rows, hasLeftPart: part === 'left' };
};

const toListedFields = (item: NewItem<Item>, kinds: ListedKinds): ListedFields => {
  const toFields = kinds[item.sk] as ((record: NewItem<Item>) => ListedFields) | undefined;
  if (!toFields) throw new Error(`records such as ${item.pk} are in no list`);
  return toFields(item);
};

const formatCursor = ({ created, id }: Place): string => `${String(created).padStart(14, '0')}#${id}`;

const parseCursor = (cursor: string): Place => {
  const [created = '', id = ''] = cursor.split('#');
  if (!LIST_CURSOR.test(cursor) || !/^-?\d+$/.test(id)) throw invalidCursorError();
  return { created: Number(created), id: Number(id) - 1 };
};

const invalidCursorError = (): ParleyError =>
  new ParleyError('invalid_request', 'The cursor is not one that an earlier page gave.');

const PAGE_ROWS = 1000;

/** Of all records. */
export const rebuildLists = (sql: DatabaseSync, kinds: ListedKinds): void => {
  sql.exec('DELETE FROM listed');
  const upsert = sql.prepare(UPSERT);
  const page = sql.prepare(`SELECT id, sk, body FROM records WHERE id > ? ORDER BY id LIMIT ${PAGE_ROWS}`);
  for (let after = 0; ; ) {
    const rows = page.all(after);
    for (const { id, sk, body } of rows)
      if (Object.hasOwn(kinds, String(sk)))
        for (const row of toRows(Number(id), JSON.parse(String(body)), kinds).rows) upsert.run(...row);
    if (rows.length < PAGE_ROWS) return;
    after = Number(rows.at(-1)?.id);
  }
};
