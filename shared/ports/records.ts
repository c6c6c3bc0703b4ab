import type { Change, Condition } from './conditions.ts';
import type { Count, ListOptions, ListPage, ListQuery } from './lists.ts';

export interface Key {
  /** Starts with the project. */
  pk: string;
  sk: string;
}

export interface Ref<T extends Item> extends Key {
  readonly type?: T;
}

/** A sparse index: a record is in it only while it has both keys. So one write can set `pk` and a later one `sk`. */
export interface IndexKey {
  pk: string;
  sk?: string;
}

/** `byHolder`: held tasks and direct messages kept as tickets. `byList`: every other list. */
export type IndexName = 'byList' | 'byHolder';

export interface Item extends Key {
  /** Rises by one with every write. */
  v: number;
  /** Identifies the last write. */
  token: string;
  /** Epoch milliseconds of the last write. */
  at: number;
  /** Epoch milliseconds. */
  due?: number;
  /** From this time (epoch milliseconds) the record counts as absent; the engine deletes it later. */
  expires?: number;
  byList?: IndexKey;
  byHolder?: IndexKey;
}

export type NewItem<T extends Item> = Omit<T, 'v' | 'token' | 'at'>;

export type WriteResult<T extends Item> =
  /** `before` is absent for a new record and with `replayed`: this token was already written. */
  | { outcome: 'written'; before?: T; after: T; replayed?: true }
  /** Nothing has changed. */
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
  prefix?: string;
  /** Exclusive, in the direction of the query. */
  after?: string;
  newestFirst?: boolean;
  limit: number;
}

/** A created or deleted record has one side only. */
export interface RecordChange<T extends Item = Item> {
  before?: T;
  after?: T;
}

/**
 * Each method is one round trip. A resolved write is durable. `token` identifies an intended write: repeated with the
 * same token after it took effect, it is `written` again. A transaction is recognised by any record that it left. On
 * contention the engine retries and then throws `conflict`: nothing has changed, and the caller may retry. Reads by key
 * see every write resolved before; index queries may lag. Changes are delivered at least once, in order per record.
 */
export interface Records {
  /** How late an index may be; absent where it never is. */
  readonly indexLagMs?: number;
  get<T extends Item>(ref: Ref<T>): Promise<T | undefined>;
  getMany<T extends Item>(refs: Ref<T>[]): Promise<T[]>;
  /** Ordered; fewer than `limit` only at the end. Records found by index match it by their current fields. */
  query<T extends Item>(query: RecordQuery): Promise<T[]>;
  /** Of one kind, the newest first. */
  list<T extends Item>(query: ListQuery<T>, options: ListOptions): Promise<ListPage<T>>;
  count<T extends Item>(query: ListQuery<T>): Promise<Count>;
  /** Refused if an unexpired record exists. */
  create<T extends Item>(item: NewItem<T>, token: string): Promise<WriteResult<T>>;
  /** Refused if the record is absent or its condition fails; `orCreate` allows absence. */
  update<T extends Item>(ref: Ref<T>, change: Change, token: string, orCreate?: 'orCreate'): Promise<WriteResult<T>>;
  delete(key: Key): Promise<void>;
  transact(writes: TransactionWrite[], token: string): Promise<TransactionResult>;
  /** Observes writes under a `pk`, and to its partition in `byList`, from now on. */
  watch(pk: string): Watcher;
}

export interface Watcher {
  /** Resolves at the latest after `ms`, maybe without a change. */
  next(ms: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}
