import type { StatementSync } from 'node:sqlite';
import { RecentMap } from '../../kernel/recent-map.ts';
import type { Item, Key, RecordQuery, Ref } from '../../ports/records.ts';
import type { Database } from './database.ts';
import type { RecordedStatement } from './sqlite-file.ts';

export interface RecordRow<T extends Item = Item> {
  id: number;
  /** In the cache. */
  key: string;
  item: T;
}

/** A task is changed soon after its creation, so recent records are cached. */
const MAX_CACHED = 1024;
/** Keeps the cache at some tens of MB. */
const MAX_CACHED_LENGTH = 16_384;

/** Items are immutable; this process is the only writer. */
export class RecordTable {
  readonly #db: Database;
  readonly #readers = new Map<string, StatementSync>();
  readonly #insert: RecordedStatement;
  readonly #updates: RecordedStatement[] = [];
  readonly #delete: RecordedStatement;
  readonly #cache = new RecentMap<string, RecordRow>(MAX_CACHED);

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.prepareWrite(INSERT_RECORD);
    this.#delete = db.prepareWrite('DELETE FROM records WHERE id = ?');
  }

  find<T extends Item>({ pk, sk }: Ref<T>): RecordRow<T> | undefined {
    const key = formatCacheKey(pk, sk);
    const known = this.#getCached<T>(key);
    if (known) return known;
    const row = this.#prepareRead('SELECT id, body FROM records WHERE pk = ? AND sk = ?').get(pk, sk);
    return row && this.#cacheRow<T>(toRow(row), String(row.body));
  }

  /** Undefined if the key exists. */
  insert<T extends Item>(item: T): RecordRow<T> | undefined {
    const key = formatCacheKey(item.pk, item.sk);
    if (this.#cache.has(key)) return undefined;
    const text = JSON.stringify(item);
    const { changes, lastInsertRowid } = this.#insert.run(item.pk, item.sk, text, ...toIndexedValues(item));
    return changes === 0 ? undefined : this.#cacheRow({ id: Number(lastInsertRowid), key, item }, text);
  }

  replace<T extends Item>({ id, key, item: before }: RecordRow<T>, item: T): RecordRow<T> {
    const [old, now] = [toIndexedValues(before), toIndexedValues(item)];
    const moved: (string | number | null)[] = [];
    let columns = 0;
    for (const [at, value] of now.entries()) {
      if (value === old[at]) continue;
      columns |= 1 << at;
      moved.push(value);
    }
    const text = JSON.stringify(item);
    this.#prepareUpdate(columns).run(text, ...moved, id);
    return this.#cacheRow({ id, key, item }, text);
  }

  delete({ id, key }: RecordRow): void {
    this.#cache.delete(key);
    this.#delete.run(id);
  }

  query<T extends Item>({ index, pk: p, prefix = '', after, newestFirst, limit }: RecordQuery, now: number): T[] {
    const [pColumn, sColumn] = index ? INDEX_COLUMNS[index] : ['pk', 'sk'];
    const [beyond, order, start] = newestFirst ? ['<', 'DESC', LAST_CHARACTER] : ['>', 'ASC', ''];
    const statement = this.#prepareRead(
      `SELECT pk, sk, body FROM records WHERE ${pColumn} = ? AND ${sColumn} >= ? AND ${sColumn} < ? AND ${sColumn} ${beyond} ?
       AND (expires IS NULL OR expires > ?) ORDER BY ${sColumn} ${order} LIMIT ?`,
    );
    const rows = statement.all(p, prefix, prefix + LAST_CHARACTER, after ?? start, now, limit);
    return rows.map(
      ({ pk, sk, body }) => this.#getCached<T>(formatCacheKey(String(pk), String(sk)))?.item ?? parseItem<T>(body),
    );
  }

  listDue(now: number, limit: number): Item[] {
    const statement = this.#prepareRead('SELECT body FROM records WHERE due <= ? ORDER BY due LIMIT ?');
    return statement.all(now, limit).map(({ body }) => parseItem<Item>(body));
  }

  findNextDue(after: number): number | undefined {
    const due = this.#prepareRead('SELECT min(due) AS due FROM records WHERE due > ?').get(after)?.due;
    return typeof due === 'number' ? due : undefined;
  }

  listExpired(now: number, limit: number): RecordRow[] {
    const statement = this.#prepareRead('SELECT id, body FROM records WHERE expires <= ? ORDER BY expires LIMIT ?');
    return statement.all(now, limit).map((row) => toRow(row));
  }

  #prepareRead(text: string): StatementSync {
    const known = this.#readers.get(text);
    if (known) return known;
    const reader = this.#db.sql.prepare(text);
    this.#readers.set(text, reader);
    return reader;
  }

  /** `columns` has a bit for each indexed column that changes. */
  #prepareUpdate(columns: number): RecordedStatement {
    const known = this.#updates[columns];
    if (known) return known;
    const assignments = INDEXED_COLUMNS.filter((_, at) => columns & (1 << at)).map((column) => `, ${column} = ?`);
    const update = this.#db.prepareWrite(`UPDATE records SET body = ?${assignments.join('')} WHERE id = ?`);
    this.#updates[columns] = update;
    return update;
  }

  #getCached<T extends Item>(key: string): RecordRow<T> | undefined {
    return this.#cache.get(key) as RecordRow<T> | undefined;
  }

  #cacheRow<T extends Item>(row: RecordRow<T>, text: string): RecordRow<T> {
    if (text.length > MAX_CACHED_LENGTH) {
      this.#cache.delete(row.key);
      return row;
    }
    this.#cache.set(row.key, row);
    return row;
  }
}

const LAST_CHARACTER = '\u{10ffff}';

const INDEX_COLUMNS = {
  byList: ['by_list_pk', 'by_list_sk'],
  byHolder: ['by_holder_pk', 'by_holder_sk'],
} as const;

const INDEXED_COLUMNS = ['due', 'expires', 'by_list_pk', 'by_list_sk', 'by_holder_pk', 'by_holder_sk'] as const;
export const INSERT_RECORD = `INSERT OR IGNORE INTO records (pk, sk, body, ${INDEXED_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** In the order of the columns. */
export const toIndexedValues = ({ due, expires, byList, byHolder }: Item): (string | number | null)[] => [
  due ?? null,
  expires ?? null,
  byList?.pk ?? null,
  byList?.sk ?? null,
  byHolder?.pk ?? null,
  byHolder?.sk ?? null,
];

const formatCacheKey = (pk: Key['pk'], sk: Key['sk']): string => `${pk}\u0000${sk}`;

const parseItem = <T extends Item>(body: unknown): T => JSON.parse(String(body));

const toRow = <T extends Item>({ id, body }: Record<string, unknown>): RecordRow<T> => {
  const item = parseItem<T>(body);
  return { id: Number(id), key: formatCacheKey(item.pk, item.sk), item };
};
