import type { ListedFields } from '../ports/lists.ts';
import type { Item, NewItem, Ref } from '../ports/records.ts';
import { type Task, timeOrderedKey } from './task.ts';

/** A task among those of its requester, in the order in which their status last changed. */
export interface TaskListing extends Item {
  sk: 'listing';
  project: string;
  id: string;
  /** Of the task. */
  version: number;
  taskCreatedAt: number;
  requester: string;
  /** At whose address it was asked for. */
  address?: string;
  /** In the words of its dialect. */
  status: string;
  conversation: string;
  changedAt: number;
}

export type ListingFields = Pick<TaskListing, 'address' | 'status' | 'conversation' | 'changedAt'>;

export const listingRef = (project: string, id: string): Ref<TaskListing> => ({
  pk: `${project}#listing#${id}`,
  sk: 'listing',
});

export const listingsKey = (project: string, requester: string): string => `${project}#listings#${requester}`;

/** Longer than the task, which may live on for as long again as its time to live. */
const OPEN_LISTING_MS = 30 * 24 * 60 * 60 * 1000;

export const buildListing = (task: Task, fields: ListingFields): NewItem<TaskListing> => {
  const { project, id, from, v, createdAt, expires, at } = task;
  return {
    pk: listingRef(project, id).pk,
    sk: 'listing',
    project,
    id,
    version: v,
    taskCreatedAt: createdAt,
    requester: from,
    ...fields,
    byList: timeOrderedKey(listingsKey(project, from), fields.changedAt, id),
    expires: expires ?? at + OPEN_LISTING_MS,
  };
};

/** The index has the newest change first. */
export const toListedListing = (listing: TaskListing): ListedFields => ({
  createdAt: listing.changedAt,
  status: listing.status,
  requester: listing.requester,
  addressee: listing.address,
  conversation: listing.conversation,
});
