import type { StatementSync } from 'node:sqlite';
import type { Clock } from '../../ports/clock.ts';
import { applied, type Change, type Condition, holds } from '../../ports/conditions.ts';
import type {
  Fresh,
  Item,
  Key,
  Listener,
  Query,
  Records,
  Ref,
  Transacted,
  Write,
  Written,
} from '../../ports/records.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { Database } from './database.ts';
import { Listeners } from './listeners.ts';

/** A stored record with the row that it is in, and the text that it has there. */
interface Row<T extends Item = Item> {
  id: number;
  item: T;
  text: string;
}

/** The records last written or read, which are the ones asked for next: a task is changed soon after it was made. */
const REMEMBERED = 4096;

/** The rows themselves, and everything that must happen in the same transaction. Nothing here waits. */
export class RecordStore {
  readonly listeners: Listeners;
  /** Told of every due time that was written, so that the timers wake in time. */
  onDue: (due: number) => void = () => {};
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #get: StatementSync;
  readonly #insert: StatementSync;
  readonly #updateText: StatementSync;
  readonly #updateAll: StatementSync;
  readonly #delete: StatementSync;
  readonly #due: StatementSync;
  readonly #nextDue: StatementSync;
  readonly #expired: StatementSync;
  readonly #queries = new Map<string, StatementSync>();
  readonly #rows = new Map<string, Row>();

  constructor(db: Database, clock: Clock, feed: ChangeFeed) {
    this.#db = db;
    this.#clock = clock;
    this.#feed = feed;
    this.listeners = new Listeners(clock);
    const columns = 'body, due, expires, listed_p, listed_s, placed_p, placed_s';
    this.#get = db.sql.prepare('SELECT id, body FROM records WHERE pk = ? AND sk = ?');
    this.#insert = db.sql.prepare(`INSERT INTO records (pk, sk, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#updateText = db.sql.prepare('UPDATE records SET body = ? WHERE id = ?');
    this.#updateAll = db.sql.prepare(`UPDATE records SET (${columns}) = (?, ?, ?, ?, ?, ?, ?) WHERE id = ?`);
    this.#delete = db.sql.prepare('DELETE FROM records WHERE id = ?');
    this.#due = db.sql.prepare('SELECT body FROM records WHERE due <= ? ORDER BY due LIMIT ?');
    this.#nextDue = db.sql.prepare('SELECT min(due) AS due FROM records WHERE due IS NOT NULL');
    this.#expired = db.sql.prepare('SELECT id, body FROM records WHERE expires <= ? ORDER BY expires LIMIT ?');
  }

  find<T extends Item>({ pk, sk }: Ref<T>): Row<T> | undefined {
    const key = keyOf(pk, sk);
    // This process is the only writer, and nobody changes an item in place.
    const known = this.#rows.get(key);
    if (known) return known as Row<T>;
    const row = this.#get.get(pk, sk);
    return row && this.#remember<T>(key, rowOf(row));
  }

  /** Without what has expired: to callers it is gone. */
  findLive<T extends Item>(ref: Ref<T>): Row<T> | undefined {
    const row = this.find(ref);
    return row && this.#isLive(row.item) ? row : undefined;
  }

  query<T extends Item>(query: Query): T[] {
    const { index, p, prefix = '', after, newestFirst, limit } = query;
    const [pColumn, sColumn] = index ? [`${index}_p`, `${index}_s`] : ['pk', 'sk'];
    const order = newestFirst ? 'DESC' : 'ASC';
    const sql = `SELECT body FROM records WHERE ${pColumn} = ? AND ${sColumn} >= ? AND ${sColumn} < ?
      AND ${sColumn} ${newestFirst ? '<' : '>'} ? ORDER BY ${sColumn} ${order} LIMIT ?`;
    const statement = this.#queries.get(sql) ?? this.#db.sql.prepare(sql);
    this.#queries.set(sql, statement);
    const edge = after ?? (newestFirst ? LAST : '');
    const rows = statement.all(p, prefix, prefix + LAST, edge, limit);
    return rows.map((row) => parsed<T>(row.body)).filter((item) => this.#isLive(item));
  }

  create<T extends Item>(item: Fresh<T>, token: string): Written<T> {
    const existing = this.find<T>(item);
    if (existing && this.#isLive(existing.item)) {
      if (existing.item.token === token) return { outcome: 'written', after: existing.item, again: true };
      return { outcome: 'refused', current: existing.item };
    }
    if (existing) this.removeRow(existing);
    return { outcome: 'written', after: this.#write<T>(undefined, item, token) };
  }

  update<T extends Item>(ref: Ref<T>, change: Change, token: string, orCreate: boolean): Written<T> {
    const row = this.findLive(ref);
    if (row?.item.token === token) return { outcome: 'written', after: row.item, again: true };
    const mayWrite = row ? meets(row.item, change.if) : orCreate && meets({}, change.if);
    if (!mayWrite) return { outcome: 'refused', current: row?.item };
    const { pk, sk } = ref;
    const after = this.#write<T>(row, applied(row?.item ?? { pk, sk }, change), token);
    return { outcome: 'written', before: row?.item, after };
  }

  transact(writes: Write[], token: string): Transacted {
    const rows = writes.map((write) => this.findLive(write.kind === 'create' ? write.item : write.key));
    if (rows.some((row, at) => writes[at]?.kind !== 'check' && row?.item.token === token))
      return { outcome: 'written' };
    const at = writes.findIndex((write, index) => !isAllowed(write, rows[index]?.item));
    if (at >= 0) return { outcome: 'refused', at, current: rows[at]?.item };
    for (const [index, write] of writes.entries()) {
      const row = rows[index];
      if (write.kind === 'create') this.create(write.item, token);
      if (write.kind === 'update') this.update(write.key, { ...write.change, if: undefined }, token, false);
      if (write.kind === 'remove' && row) this.removeRow(row);
    }
    return { outcome: 'written' };
  }

  remove(key: Key): void {
    const row = this.find(key);
    if (row) this.removeRow(row);
  }

  removeRow({ id, item, text }: Row): void {
    this.#delete.run(id);
    this.#rows.delete(keyOf(item.pk, item.sk));
    this.#feed.append({ before: item }, text, null);
    this.#announce(item);
  }

  /** The records whose due time has come, the most overdue first. */
  dueBy(now: number, limit: number): Item[] {
    return this.#due.all(now, limit).map((row) => parsed<Item>(row.body));
  }

  nextDue(): number | undefined {
    const due = this.#nextDue.get()?.due;
    return typeof due === 'number' ? due : undefined;
  }

  /** Removes some of the records whose time is over. */
  removeExpired(limit: number): number {
    const rows = this.#expired.all(this.#clock.now(), limit);
    for (const row of rows) this.removeRow(rowOf(row));
    return rows.length;
  }

  /** `fields` is a whole record but for the stamps: one that is stored already with a change applied, or a new one. */
  #write<T extends Item>(row: Row<T> | undefined, fields: object, token: string): T {
    const item = { ...fields, v: (row?.item.v ?? 0) + 1, token, at: this.#clock.now() } as T;
    const text = JSON.stringify(item);
    const { pk, sk, due, expires, listed, placed } = item;
    const columns = [text, due, expires, listed?.p, listed?.s, placed?.p, placed?.s].map((value) => value ?? null);
    if (row && hasMoved(row.item, item)) this.#updateAll.run(...columns, row.id);
    else if (row) this.#updateText.run(text, row.id);
    const id = row?.id ?? Number(this.#insert.run(pk, sk, ...columns).lastInsertRowid);
    this.#remember(keyOf(pk, sk), { id, item, text });
    this.#feed.append({ before: row?.item, after: item }, row?.text ?? null, text);
    if (due !== undefined && due !== row?.item.due) this.onDue(due);
    this.#announce(item);
    return item;
  }

  #remember<T extends Item>(key: string, row: Row<T>): Row<T> {
    this.#rows.delete(key);
    this.#rows.set(key, row);
    if (this.#rows.size > REMEMBERED) {
      const [oldest = ''] = this.#rows.keys();
      this.#rows.delete(oldest);
    }
    return row;
  }

  /** Readers wait for what stands under the record's own key, and for what appears in a place of an index. */
  #announce({ pk, placed }: Item): void {
    this.#db.afterCommit(() => {
      this.listeners.ring(pk);
      if (placed && placed.p !== pk) this.listeners.ring(placed.p);
    });
  }

  #isLive({ expires }: Item): boolean {
    return expires === undefined || expires > this.#clock.now();
  }
}

/** Sorts behind every key: keys are printable text. */
const LAST = '\u{10ffff}';

const parsed = <T extends Item>(body: unknown): T => JSON.parse(String(body));
const rowOf = <T extends Item>({ id, body }: Record<string, unknown>): Row<T> => ({
  id: Number(id),
  item: parsed(body),
  text: String(body),
});
const keyOf = (pk: string, sk: string): string => `${pk} ${sk}`;

const meets = (record: object, condition: Condition | undefined): boolean => !condition || holds(condition, record);

const isAllowed = (write: Write, current: Item | undefined): boolean => {
  if (write.kind === 'create') return current === undefined;
  if (write.kind === 'update') return current !== undefined && meets(current, write.change.if);
  if (write.kind === 'remove') return write.if === undefined || meets(current ?? {}, write.if);
  return meets(current ?? {}, write.if);
};

const hasMoved = (before: Item, after: Item): boolean =>
  before.due !== after.due ||
  before.expires !== after.expires ||
  before.listed?.p !== after.listed?.p ||
  before.listed?.s !== after.listed?.s ||
  before.placed?.p !== after.placed?.p ||
  before.placed?.s !== after.placed?.s;

/** The port. With `derived`, its writes are those of the dispatcher, which would be repeated after a power failure. */
export const recordsOn = (db: Database, store: RecordStore, derived: boolean): Records => {
  const write = <T>(operation: () => T): Promise<T> => (derived ? db.writeDerived(operation) : db.write(operation));
  return {
    get: (ref) => db.read(() => store.findLive(ref)?.item),
    getMany: (refs) => db.read(() => refs.flatMap((ref) => store.findLive(ref)?.item ?? [])),
    query: (query) => db.read(() => store.query(query)),
    create: (item, token) => write(() => store.create(item, token)),
    update: (ref, change, token, orCreate) => write(() => store.update(ref, change, token, orCreate === 'orCreate')),
    remove: (key) => write(() => store.remove(key)),
    transact: (writes, token) => write(() => store.transact(writes, token)),
    listen: (pk): Listener => store.listeners.listen(pk),
  };
};
