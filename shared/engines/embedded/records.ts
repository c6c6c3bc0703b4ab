import type { Clock } from '../../ports/clock.ts';
import { applied, type Change, type Condition, holds } from '../../ports/conditions.ts';
import type { Fresh, Item, Key, Query, Records, Ref, Transacted, Write, Written } from '../../ports/records.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { Database } from './database.ts';
import { Listeners } from './listeners.ts';
import type { Row, Rows } from './rows.ts';

/** Conditional writes, each with its change in the same group. Nothing here waits. */
export class RecordStore {
  readonly rows: Rows;
  readonly listeners: Listeners;
  /** Told of every new due time, so that the timers wake in time. */
  onDue: (due: number) => void = () => {};
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #feed: ChangeFeed;

  constructor(db: Database, rows: Rows, clock: Clock, feed: ChangeFeed) {
    this.#db = db;
    this.#clock = clock;
    this.#feed = feed;
    this.rows = rows;
    this.listeners = new Listeners(clock);
  }

  /** What has expired is gone to callers, though its row may still be there. */
  find<T extends Item>(ref: Ref<T>): Row<T> | undefined {
    const row = this.rows.find(ref);
    return row && this.#isLive(row.item) ? row : undefined;
  }

  query<T extends Item>(query: Query): T[] {
    return this.rows.query<T>(query, this.#clock.now());
  }

  create<T extends Item>(item: Fresh<T>, token: string): Written<T> {
    const after = this.#insert<T>(item, token);
    if (after) return { outcome: 'written', after };
    const existing = this.find<T>(item);
    if (existing?.item.token === token) return { outcome: 'written', after: existing.item, again: true };
    return { outcome: 'refused', current: existing?.item };
  }

  update<T extends Item>(ref: Ref<T>, change: Change, token: string, orCreate: boolean): Written<T> {
    const row = this.find(ref);
    if (row?.item.token === token) return { outcome: 'written', after: row.item, again: true };
    if (row && meets(row.item, change.if)) {
      return { outcome: 'written', before: row.item, after: this.#replace(row, applied(row.item, change), token) };
    }
    const after = !row && orCreate && meets({}, change.if) && this.#insert<T>(applied(keyOf(ref), change), token);
    return after ? { outcome: 'written', after } : { outcome: 'refused', current: row?.item };
  }

  transact(writes: Write[], token: string): Transacted {
    const rows = writes.map((write) => this.find(write.kind === 'create' ? write.item : write.key));
    if (rows.some((row, at) => writes[at]?.kind !== 'check' && row?.item.token === token)) {
      return { outcome: 'written' };
    }
    const at = writes.findIndex((write, index) => !isAllowed(write, rows[index]?.item));
    if (at >= 0) return { outcome: 'refused', at, current: rows[at]?.item };
    for (const [index, write] of writes.entries()) {
      const row = rows[index];
      if (write.kind === 'create') this.#insert(write.item, token);
      if (write.kind === 'update' && row) this.#replace(row, applied(row.item, write.change), token);
      if (write.kind === 'remove' && row) this.remove(row);
    }
    return { outcome: 'written' };
  }

  remove(row: Row): void {
    this.rows.delete(row);
    this.#feed.append({ before: row.item });
    this.#announce(row.item);
  }

  /** Removes some of the records whose time is over. */
  removeExpired(limit: number): number {
    const expired = this.rows.expiredBy(this.#clock.now(), limit);
    for (const row of expired) this.remove(row);
    return expired.length;
  }

  /** Undefined where a record is there that has not expired. */
  #insert<T extends Item>(fields: object, token: string): T | undefined {
    const item = this.#stamped<T>(fields, 1, token);
    let row = this.rows.insert(item);
    if (!row) {
      const existing = this.rows.find<T>(item);
      if (!existing || this.#isLive(existing.item)) return undefined;
      this.remove(existing);
      row = this.rows.insert(item);
    }
    if (row) this.#wrote(undefined, row);
    return item;
  }

  #replace<T extends Item>(before: Row<T>, fields: object, token: string): T {
    const row = this.rows.replace(before, this.#stamped<T>(fields, before.item.v + 1, token));
    this.#wrote(before, row);
    return row.item;
  }

  /** `fields` is a whole record but for the stamps: a new one, or a stored one with a change applied. */
  #stamped<T extends Item>(fields: object, v: number, token: string): T {
    return { ...fields, v, token, at: this.#clock.now() } as T;
  }

  #wrote(before: Row | undefined, { item }: Row): void {
    this.#feed.append({ before: before?.item, after: item });
    if (item.due !== undefined && item.due !== before?.item.due) this.onDue(item.due);
    this.#announce(item);
  }

  /** Readers wait for what stands under a record's own key, and for what appears in a place of an index. */
  #announce({ pk, placed }: Item): void {
    this.#db.afterCommit(() => {
      this.listeners.ring(pk);
      if (placed?.s !== undefined && placed.p !== pk) this.listeners.ring(placed.p);
    });
  }

  #isLive({ expires }: Item): boolean {
    return expires === undefined || expires > this.#clock.now();
  }
}

const keyOf = ({ pk, sk }: Key): Key => ({ pk, sk });

const meets = (record: object, condition: Condition | undefined): boolean => !condition || holds(condition, record);

const isAllowed = (write: Write, current: Item | undefined): boolean => {
  if (write.kind === 'create') return current === undefined;
  if (write.kind === 'update') return current !== undefined && meets(current, write.change.if);
  return meets(current ?? {}, write.if);
};

/** How a port writes: `durable`, or `soon` for what follows from another write and would be repeated should it be lost. */
export type Care = 'durable' | 'soon';

export const recordsOn = (db: Database, store: RecordStore, feed: ChangeFeed, care: Care): Records => {
  const write = async <T>(operation: () => T): Promise<T> => {
    if (care === 'soon') return db.writeSoon(operation);
    for (let room = feed.room(); room; room = feed.room()) await room;
    return db.write(operation);
  };
  return {
    get: (ref) => db.read(() => store.find(ref)?.item),
    getMany: (refs) => db.read(() => refs.flatMap((ref) => store.find(ref)?.item ?? [])),
    query: (query) => db.read(() => store.query(query)),
    create: (item, token) => write(() => store.create(item, token)),
    update: (ref, change, token, orCreate) => write(() => store.update(ref, change, token, orCreate === 'orCreate')),
    remove: (key) =>
      write(() => {
        const row = store.rows.find(key);
        if (row) store.remove(row);
      }),
    transact: (writes, token) => write(() => store.transact(writes, token)),
    listen: (pk) => store.listeners.listen(pk),
  };
};
