import type { Change, Condition } from './conditions.ts';

export interface Key {
  /** Begins with the project: nothing crosses projects. */
  pk: string;
  /** Says what the record is; records under one `pk` are read together. */
  sk: string;
}

/** A key that knows the type of the record that it names. */
export interface Ref<T extends Item> extends Key {
  readonly type?: T;
}

/**
 * Where a record stands in an index: among those with the same `p`, ordered by `s`. It stands there only while it has both, so
 * that a record can know its place from the start and be put there later by a write that does not know it.
 */
export interface IndexKey {
  pk: string;
  sk?: string;
}

/** `held` is for what an agent has in hand and for notes that are kept as tickets, `placed` for every other list. */
export type IndexName = 'byList' | 'byHolder';

/** What every stored record carries beside its own fields. */
export interface Item extends Key {
  /** Rises by one with every write. The engine sets it. */
  v: number;
  /** Names the last write. The engine sets it. */
  token: string;
  /** When it was last written, in epoch milliseconds. The engine sets it. */
  at: number;
  /** When the timers must look at this record, in epoch milliseconds. */
  due?: number;
  /** From this time on, in epoch milliseconds, the record counts as absent; the engine removes it some time after. */
  expires?: number;
  byList?: IndexKey;
  byHolder?: IndexKey;
}

export type NewItem<T extends Item> = Omit<T, 'v' | 'token' | 'at'>;

export type WriteResult<T extends Item> =
  /** `before` is missing for a new record, and where `again` says that this token had been written already. */
  | { outcome: 'written'; before?: T; after: T; replayed?: true }
  /** The condition did not hold; `current` is the record that it met. Nothing has changed. */
  | { outcome: 'refused'; existing?: T };

export type TransactionWrite =
  | { kind: 'create'; item: NewItem<Item> & Record<string, unknown> }
  | { kind: 'update'; key: Key; change: Change }
  | { kind: 'remove'; key: Key; if?: Condition }
  | { kind: 'check'; key: Key; if: Condition };

export type TransactionResult = { outcome: 'written' } | { outcome: 'refused'; at: number; existing?: Item };

export interface RecordQuery {
  index?: IndexName;
  pk: string;
  /** Only records whose sort key begins with this. */
  prefix?: string;
  /** Only records after this sort key, in the direction of the query. */
  after?: string;
  newestFirst?: boolean;
  limit: number;
}

/** One write, as it is told to whoever follows the changes. A record that came or went has one side only. */
export interface RecordChange<T extends Item = Item> {
  before?: T;
  after?: T;
}

/**
 * The truth about everything, one record at a time.
 *
 * A method is one round trip. A write that resolved is durable. `token` names one intended write: where it is
 * repeated with the same token after it took effect (a lost answer, a retry below this port), it is `written` again, not
 * refused; a transaction is recognised by any record that it left. Where other writes are in the way, the engine tries again
 * for a while and then throws `conflict`: nothing has changed, nothing was decided, and the caller may try later. Reads by key see every write that resolved before them; queries by index may lag behind.
 * Changes are delivered at least once, in order for each record, in no order between records.
 */
export interface Records {
  get<T extends Item>(ref: Ref<T>): Promise<T | undefined>;
  getMany<T extends Item>(refs: Ref<T>[]): Promise<T[]>;
  /**
   * All records of one `pk`, or of one place in an index, in order; fewer than `limit` only where there are no more. What is
   * found by index stands there by its own fields.
   */
  query<T extends Item>(query: RecordQuery): Promise<T[]>;
  /** Refused if a record is there that has not expired. */
  create<T extends Item>(item: NewItem<T>, token: string): Promise<WriteResult<T>>;
  /** Refused if the record is absent, or present and its condition does not hold; with `orCreate`, absence is fine. */
  update<T extends Item>(ref: Ref<T>, change: Change, token: string, orCreate?: 'orCreate'): Promise<WriteResult<T>>;
  delete(key: Key): Promise<void>;
  /** All of the writes or none. */
  transact(writes: TransactionWrite[], token: string): Promise<TransactionResult>;
  /** Notices writes under a `pk`, and to what stands there in `placed`, from now on, so that a reader misses none. */
  watch(pk: string): Watcher;
}

export interface Watcher {
  /** Resolves when something under the key may have changed since the last call, after `ms` at the latest. */
  next(ms: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}
