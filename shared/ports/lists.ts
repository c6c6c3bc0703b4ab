import type { Condition } from './conditions.ts';
import type { IndexName, Item, NewItem } from './records.ts';

/** By what the records of a kind are listed. A filter is a condition of these fields. */
export interface ListedFields {
  createdAt: number;
  status: string;
  type?: string | undefined;
  requester?: string | undefined;
  addressee?: string | undefined;
  holder?: string | undefined;
  domain?: string | undefined;
  conversation?: string | undefined;
  error?: string | undefined;
  /** A list of its own that the record is in as well, by another time. `left`: it may have been in one. */
  part?: { name: string; at: number } | 'left' | undefined;
  /** Of another kind: it is listed as if it were stored, and always follows from this record. */
  derived?: NewItem<Item> | undefined;
}

/** By the sort key of the kind. */
export type ListedKinds = Readonly<Record<string, (record: never) => ListedFields>>;

export interface ListQuery<T extends Item> {
  project: string;
  /** The sort key, and the middle of the partition key: `project#kind#id`. */
  kind: string;
  toFields: (record: T) => ListedFields;
  where: Condition;
  /** Created at or after, and before. */
  since?: number | undefined;
  until?: number | undefined;
  idPrefix?: string | undefined;
  /** A shorter list with every match. An engine may read it instead, in its order. */
  within?: { index: IndexName; pk: string } | undefined;
  /** Only of this part, in its order. On an engine without parts it is the list `within`. */
  part?: string | undefined;
}

export interface ListOptions {
  /** Of an earlier page. */
  after?: string | undefined;
  limit: number;
}

export interface ListPage<T extends Item> {
  records: T[];
  /** Absent at the end. A page with a cursor may be short or empty: a call reads a bounded part of the index. */
  cursor?: string;
}

/** A count that is not exact is a lower bound. */
export interface Count {
  value: number;
  isExact: boolean;
}

/** Beyond, a count is not exact. */
export const MAX_COUNT = 1000;

/** Of every list: a time, and what tells records of one millisecond apart. */
export const LIST_CURSOR = /^\d{14}#[\w-]{1,32}$/;
