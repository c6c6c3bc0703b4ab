import type { StatementSync } from 'node:sqlite';
import type { Item, Key, Query, Ref } from '../../ports/records.ts';
import type { Database } from './database.ts';
import type { Writer } from './sqlite-file.ts';

/** A stored record with the row that it is in. */
export interface Row<T extends Item = Item> {
  id: number;
  item: T;
}

/** Records of late, which are the ones asked for next: a task is changed soon after it was made. */
const REMEMBERED = 4096;
/** A record with a longer text is not remembered: what is, takes some tens of MB at the most. */
const LARGE = 16_384;

/** The table of records. An item that was given out is never changed in place; this process is the only writer. */
export class Rows {
  readonly #db: Database;
  readonly #readers = new Map<string, StatementSync>();
  readonly #writers = new Map<string, Writer>();
  readonly #known = new Map<string, Row>();

  constructor(db: Database) {
    this.#db = db;
  }

  find<T extends Item>({ pk, sk }: Ref<T>): Row<T> | undefined {
    const known = this.#remembered<T>(pk, sk);
    if (known) return known;
    const row = this.#reader('SELECT id, body FROM records WHERE pk = ? AND sk = ?').get(pk, sk);
    return row && this.#remember<T>(rowOf(row), String(row.body));
  }

  /** Undefined where a row with that key is there. */
  insert<T extends Item>(item: T): Row<T> | undefined {
    if (this.#known.has(keyOf(item.pk, item.sk))) return undefined;
    const text = JSON.stringify(item);
    const values = [item.pk, item.sk, text, ...Object.values(columnsOf(item))];
    const { changes, lastInsertRowid } = this.#writer(INSERT).run(...values);
    return changes === 0 ? undefined : this.#remember({ id: Number(lastInsertRowid), item }, text);
  }

  /** Touches only those indexes in which the record moves. */
  replace<T extends Item>({ id, item: before }: Row<T>, item: T): Row<T> {
    const [old, now] = [columnsOf(before), columnsOf(item)];
    const moved = COLUMNS.filter((column) => old[column] !== now[column]);
    const assignments = ['body = ?', ...moved.map((column) => `${column} = ?`)].join(', ');
    const values = moved.map((column) => now[column]);
    const text = JSON.stringify(item);
    this.#writer(`UPDATE records SET ${assignments} WHERE id = ?`).run(text, ...values, id);
    return this.#remember({ id, item }, text);
  }

  delete({ id, item }: Row): void {
    this.#known.delete(keyOf(item.pk, item.sk));
    this.#writer('DELETE FROM records WHERE id = ?').run(id);
  }

  /** Of those that have not expired by now. */
  query<T extends Item>({ index, p, prefix = '', after, newestFirst, limit }: Query, now: number): T[] {
    const [pColumn, sColumn] = index ? [`${index}_p`, `${index}_s`] : ['pk', 'sk'];
    const [beyond, order, start] = newestFirst ? ['<', 'DESC', LAST] : ['>', 'ASC', ''];
    const statement = this.#reader(
      `SELECT pk, sk, body FROM records WHERE ${pColumn} = ? AND ${sColumn} >= ? AND ${sColumn} < ? AND ${sColumn} ${beyond} ?
       AND (expires IS NULL OR expires > ?) ORDER BY ${sColumn} ${order} LIMIT ?`,
    );
    const rows = statement.all(p, prefix, prefix + LAST, after ?? start, now, limit);
    return rows.map(({ pk, sk, body }) => this.#remembered<T>(String(pk), String(sk))?.item ?? parsed<T>(body));
  }

  /** The records whose due time has come, the most overdue first. */
  dueBy(now: number, limit: number): Item[] {
    const statement = this.#reader('SELECT body FROM records WHERE due <= ? ORDER BY due LIMIT ?');
    return statement.all(now, limit).map(({ body }) => parsed<Item>(body));
  }

  nextDue(after: number): number | undefined {
    const due = this.#reader('SELECT min(due) AS due FROM records WHERE due > ?').get(after)?.due;
    return typeof due === 'number' ? due : undefined;
  }

  expiredBy(now: number, limit: number): Row[] {
    const statement = this.#reader('SELECT id, body FROM records WHERE expires <= ? ORDER BY expires LIMIT ?');
    return statement.all(now, limit).map((row) => rowOf(row));
  }

  #reader(text: string): StatementSync {
    const known = this.#readers.get(text);
    if (known) return known;
    const reader = this.#db.sql.prepare(text);
    this.#readers.set(text, reader);
    return reader;
  }

  #writer(text: string): Writer {
    const known = this.#writers.get(text);
    if (known) return known;
    const writer = this.#db.writer(text);
    this.#writers.set(text, writer);
    return writer;
  }

  #remembered<T extends Item>(pk: string, sk: string): Row<T> | undefined {
    return this.#known.get(keyOf(pk, sk)) as Row<T> | undefined;
  }

  #remember<T extends Item>(row: Row<T>, text: string): Row<T> {
    if (text.length > LARGE) {
      this.#known.delete(keyOf(row.item.pk, row.item.sk));
      return row;
    }
    this.#known.set(keyOf(row.item.pk, row.item.sk), row);
    if (this.#known.size > REMEMBERED) {
      const [oldest = ''] = this.#known.keys();
      this.#known.delete(oldest);
    }
    return row;
  }
}

/** Sorts behind every key: keys are printable text. */
const LAST = '\u{10ffff}';

const COLUMNS = ['due', 'expires', 'placed_p', 'placed_s', 'held_p', 'held_s'] as const;
const INSERT = `INSERT OR IGNORE INTO records (pk, sk, body, ${COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** What stands beside the text for the sake of an index, in the order of the columns. */
const columnsOf = ({ due, expires, placed, held }: Item): Record<(typeof COLUMNS)[number], string | number | null> => ({
  due: due ?? null,
  expires: expires ?? null,
  placed_p: placed?.p ?? null,
  placed_s: placed?.s ?? null,
  held_p: held?.p ?? null,
  held_s: held?.s ?? null,
});

const keyOf = (pk: Key['pk'], sk: Key['sk']): string => `${pk}\u0000${sk}`;

const parsed = <T extends Item>(body: unknown): T => JSON.parse(String(body));

const rowOf = <T extends Item>({ id, body }: Record<string, unknown>): Row<T> => ({
  id: Number(id),
  item: parsed(body),
});
