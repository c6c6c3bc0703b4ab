import type { StatementSync } from 'node:sqlite';
import { RecentMap } from '../../kernel/recent-map.ts';
import type { Item, Key, RecordQuery, Ref } from '../../ports/records.ts';
import type { Database } from './database.ts';
import type { RecordedStatement } from './sqlite-file.ts';

export interface RecordRow<T extends Item = Item> {
  id: number;
  item: T;
}

/** A task is changed soon after its creation, so recent records are cached. */
const MAX_CACHED = 4096;
/** Keeps the cache at some tens of MB. */
const MAX_CACHED_LENGTH = 16_384;

/** Items are immutable; this process is the only writer. */
export class RecordTable {
  readonly #db: Database;
  readonly #readers = new Map<string, StatementSync>();
  readonly #writers = new Map<string, RecordedStatement>();
  readonly #cache = new RecentMap<string, RecordRow>(MAX_CACHED);

  constructor(db: Database) {
    this.#db = db;
  }

  find<T extends Item>({ pk, sk }: Ref<T>): RecordRow<T> | undefined {
    const known = this.#getCached<T>(pk, sk);
    if (known) return known;
    const row = this.#prepareRead('SELECT id, body FROM records WHERE pk = ? AND sk = ?').get(pk, sk);
    return row && this.#cacheRow<T>(toRow(row), String(row.body));
  }

  /** Undefined if the key exists. */
  insert<T extends Item>(item: T): RecordRow<T> | undefined {
    if (this.#cache.has(formatCacheKey(item.pk, item.sk))) return undefined;
    const text = JSON.stringify(item);
    const values = [item.pk, item.sk, text, ...Object.values(toColumns(item))];
    const { changes, lastInsertRowid } = this.#prepareWrite(INSERT_RECORD).run(...values);
    return changes === 0 ? undefined : this.#cacheRow({ id: Number(lastInsertRowid), item }, text);
  }

  replace<T extends Item>({ id, item: before }: RecordRow<T>, item: T): RecordRow<T> {
    const [old, now] = [toColumns(before), toColumns(item)];
    const moved = INDEXED_COLUMNS.filter((column) => old[column] !== now[column]);
    const assignments = ['body = ?', ...moved.map((column) => `${column} = ?`)].join(', ');
    const values = moved.map((column) => now[column]);
    const text = JSON.stringify(item);
    this.#prepareWrite(`UPDATE records SET ${assignments} WHERE id = ?`).run(text, ...values, id);
    return this.#cacheRow({ id, item }, text);
  }

  delete({ id, item }: RecordRow): void {
    this.#cache.delete(formatCacheKey(item.pk, item.sk));
    this.#prepareWrite('DELETE FROM records WHERE id = ?').run(id);
  }

  query<T extends Item>({ index, pk: p, prefix = '', after, newestFirst, limit }: RecordQuery, now: number): T[] {
    const [pColumn, sColumn] = index ? INDEX_COLUMNS[index] : ['pk', 'sk'];
    const [beyond, order, start] = newestFirst ? ['<', 'DESC', LAST_CHARACTER] : ['>', 'ASC', ''];
    const statement = this.#prepareRead(
      `SELECT pk, sk, body FROM records WHERE ${pColumn} = ? AND ${sColumn} >= ? AND ${sColumn} < ? AND ${sColumn} ${beyond} ?
       AND (expires IS NULL OR expires > ?) ORDER BY ${sColumn} ${order} LIMIT ?`,
    );
    const rows = statement.all(p, prefix, prefix + LAST_CHARACTER, after ?? start, now, limit);
    return rows.map(({ pk, sk, body }) => this.#getCached<T>(String(pk), String(sk))?.item ?? parseItem<T>(body));
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

  #prepareWrite(text: string): RecordedStatement {
    const known = this.#writers.get(text);
    if (known) return known;
    const writer = this.#db.prepareWrite(text);
    this.#writers.set(text, writer);
    return writer;
  }

  #getCached<T extends Item>(pk: string, sk: string): RecordRow<T> | undefined {
    return this.#cache.get(formatCacheKey(pk, sk)) as RecordRow<T> | undefined;
  }

  #cacheRow<T extends Item>(row: RecordRow<T>, text: string): RecordRow<T> {
    if (text.length > MAX_CACHED_LENGTH) {
      this.#cache.delete(formatCacheKey(row.item.pk, row.item.sk));
      return row;
    }
    this.#cache.set(formatCacheKey(row.item.pk, row.item.sk), row);
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

export const toColumns = ({
  due,
  expires,
  byList,
  byHolder,
}: Item): Record<(typeof INDEXED_COLUMNS)[number], string | number | null> => ({
  due: due ?? null,
  expires: expires ?? null,
  by_list_pk: byList?.pk ?? null,
  by_list_sk: byList?.sk ?? null,
  by_holder_pk: byHolder?.pk ?? null,
  by_holder_sk: byHolder?.sk ?? null,
});

const formatCacheKey = (pk: Key['pk'], sk: Key['sk']): string => `${pk}\u0000${sk}`;

const parseItem = <T extends Item>(body: unknown): T => JSON.parse(String(body));

const toRow = <T extends Item>({ id, body }: Record<string, unknown>): RecordRow<T> => ({
  id: Number(id),
  item: parseItem(body),
});
