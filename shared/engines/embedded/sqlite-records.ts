import type { Clock } from '../../ports/clock.ts';
import { applyChange, type Change, type Condition, evaluateCondition } from '../../ports/conditions.ts';
import type { Count, ListOptions, ListPage, ListQuery } from '../../ports/lists.ts';
import type {
  Item,
  Key,
  NewItem,
  RecordQuery,
  Records,
  Ref,
  TransactionResult,
  TransactionWrite,
  WriteResult,
} from '../../ports/records.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { Database } from './database.ts';
import type { ListTable } from './list-table.ts';
import type { RecordRow, RecordTable } from './record-table.ts';
import { Watchers } from './watchers.ts';

/** Each write and its change share a group. */
export class RecordStore {
  readonly table: RecordTable;
  readonly watchers: Watchers;
  onDue: (due: number) => void = () => {};
  #changed: string[] = [];
  #isNotifying = false;
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;
  readonly #lists: ListTable;

  constructor(db: Database, table: RecordTable, lists: ListTable, clock: Clock, feed: ChangeFeed) {
    this.#db = db;
    this.#lists = lists;
    this.#clock = clock;
    this.#feed = feed;
    this.table = table;
    this.watchers = new Watchers(clock);
  }

  find<T extends Item>(ref: Ref<T>): RecordRow<T> | undefined {
    const row = this.table.find(ref);
    return row && this.#isLive(row.item) ? row : undefined;
  }

  query<T extends Item>(query: RecordQuery): T[] {
    return this.table.query<T>(query, this.#clock.now());
  }

  list<T extends Item>(query: ListQuery<T>, options: ListOptions): ListPage<T> {
    return this.#lists.list(query, options, this.#clock.now());
  }

  count<T extends Item>(query: ListQuery<T>): Count {
    return this.#lists.count(query, this.#clock.now());
  }

  create<T extends Item>(item: NewItem<T>, token: string): WriteResult<T> {
    const after = this.#insertRow<T>({ ...item }, token);
    if (after) return { outcome: 'written', after };
    const existing = this.find<T>(item);
    if (existing?.item.token === token) return { outcome: 'written', after: existing.item, replayed: true };
    return { outcome: 'refused', existing: existing?.item };
  }

  update<T extends Item>(ref: Ref<T>, change: Change, token: string, orCreate: boolean): WriteResult<T> {
    const row = this.find(ref);
    if (row?.item.token === token) return { outcome: 'written', after: row.item, replayed: true };
    if (row && isSatisfied(row.item, change.if)) {
      return {
        outcome: 'written',
        before: row.item,
        after: this.#replaceRow(row, applyChange(row.item, change), token),
      };
    }
    const after =
      !row && orCreate && isSatisfied({}, change.if) && this.#insertRow<T>(applyChange(toKey(ref), change), token);
    return after ? { outcome: 'written', after } : { outcome: 'refused', existing: row?.item };
  }

  transact(writes: TransactionWrite[], token: string): TransactionResult {
    const rows = writes.map((write) => this.find(write.kind === 'create' ? write.item : write.key));
    if (rows.some((row, at) => writes[at]?.kind !== 'check' && row?.item.token === token)) {
      return { outcome: 'written' };
    }
    const at = writes.findIndex((write, index) => !isAllowed(write, rows[index]?.item));
    if (at >= 0) return { outcome: 'refused', at, existing: rows[at]?.item };
    for (const [index, write] of writes.entries()) {
      const row = rows[index];
      if (write.kind === 'create') this.#insertRow({ ...write.item }, token);
      if (write.kind === 'update' && row) this.#replaceRow(row, applyChange(row.item, write.change), token);
      if (write.kind === 'remove' && row) this.delete(row);
    }
    return { outcome: 'written' };
  }

  delete(row: RecordRow): void {
    this.table.delete(row);
    this.#lists.onDeleted(row.id, row.item);
    this.#feed.append({ before: row.item });
    this.#notifyWatchers(row.item);
  }

  deleteExpired(limit: number): number {
    const expired = this.table.listExpired(this.#clock.now(), limit);
    for (const row of expired) this.delete(row);
    return expired.length;
  }

  /** Undefined if an unexpired record exists. */
  #insertRow<T extends Item>(fields: Record<string, unknown>, token: string): T | undefined {
    const item = this.#stamp<T>(fields, 1, token);
    let row = this.table.insert(item);
    if (!row) {
      const existing = this.table.find<T>(item);
      if (!existing || this.#isLive(existing.item)) return undefined;
      this.delete(existing);
      row = this.table.insert(item);
    }
    if (row) this.#onWritten(undefined, row);
    return item;
  }

  #replaceRow<T extends Item>(before: RecordRow<T>, fields: Record<string, unknown>, token: string): T {
    const row = this.table.replace(before, this.#stamp<T>(fields, before.item.v + 1, token));
    this.#onWritten(before, row);
    return row.item;
  }

  /** Changes the fields themselves: nobody else has them. */
  #stamp<T extends Item>(fields: Record<string, unknown>, v: number, token: string): T {
    fields.v = v;
    fields.token = token;
    fields.at = this.#clock.now();
    return fields as T;
  }

  #onWritten(before: RecordRow | undefined, { id, item }: RecordRow): void {
    this.#lists.onWritten(id, item);
    this.#feed.append({ before: before?.item, after: item });
    if (item.due !== undefined && item.due !== before?.item.due) this.onDue(item.due);
    this.#notifyWatchers(item);
  }

  #notifyWatchers({ pk, byList }: Item): void {
    this.#changed.push(pk);
    if (byList?.sk !== undefined && byList.pk !== pk) this.#changed.push(byList.pk);
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    this.#db.onAfterCommit(() => {
      this.#isNotifying = false;
      for (const key of this.#changed.splice(0)) this.watchers.notify(key);
    });
  }

  #isLive({ expires }: Item): boolean {
    return expires === undefined || expires > this.#clock.now();
  }
}

const toKey = ({ pk, sk }: Key): Key => ({ pk, sk });

const isSatisfied = (record: object, condition: Condition | undefined): boolean =>
  !condition || evaluateCondition(condition, record);

const isAllowed = (write: TransactionWrite, current: Item | undefined): boolean => {
  if (write.kind === 'create') return current === undefined;
  if (write.kind === 'update') return current !== undefined && isSatisfied(current, write.change.if);
  return isSatisfied(current ?? {}, write.if);
};

/** `soon`: an effect, which is repeated if the write is lost. */
export type Durability = 'durable' | 'soon';

export const createSqliteRecords = (
  db: Database,
  store: RecordStore,
  feed: ChangeFeed,
  durability: Durability,
): Records => {
  const runWrite = async <T>(operation: () => T): Promise<T> => {
    if (durability === 'soon') return db.writeAsync(operation);
    // Before the wait: effects may go on for long while requests have no space.
    db.assertCapacity('request');
    return await feed.backPressure.waitForCapacity(() => db.write(operation));
  };
  return {
    get: (ref) => db.read(() => store.find(ref)?.item),
    getMany: (refs) => db.read(() => refs.flatMap((ref) => store.find(ref)?.item ?? [])),
    query: (query) => db.read(() => store.query(query)),
    list: (query, options) => db.read(() => store.list(query, options)),
    count: (query) => db.read(() => store.count(query)),
    create: (item, token) => runWrite(() => store.create(item, token)),
    update: (ref, change, token, orCreate) => runWrite(() => store.update(ref, change, token, orCreate === 'orCreate')),
    delete: (key) =>
      runWrite(() => {
        const row = store.table.find(key);
        if (row) store.delete(row);
      }),
    transact: (writes, token) => runWrite(() => store.transact(writes, token)),
    watch: (pk) => store.watchers.watch(pk),
  };
};
