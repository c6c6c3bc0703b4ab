import { findDialect } from '../../dialects/registry.ts';
import type { Task } from '../../model/task.ts';
import { buildListing, listingsKey, type TaskListing, toListedListing } from '../../model/task-listing.ts';
import { and, equals } from '../../ports/conditions.ts';
import type { ListQuery } from '../../ports/lists.ts';
import type { NewItem } from '../../ports/records.ts';

interface ListingFilter {
  requester: string;
  address?: string | undefined;
  status?: string | undefined;
  conversation?: string | undefined;
  /** Changed at this time or later. */
  since?: number | undefined;
}

/** Only tasks of some dialects are listed by their last change. */
export const deriveListing = (task: Task): NewItem<TaskListing> | undefined => {
  const describe = findDialect(task.dialect)?.describeForListing;
  return describe && buildListing(task, describe(task));
};

export const buildListingQuery = (
  project: string,
  { requester, address, status, conversation, since }: ListingFilter,
): ListQuery<TaskListing> => ({
  project,
  kind: 'listing',
  toFields: toListedListing,
  where: and(
    equals('requester', requester),
    ...(address === undefined ? [] : [equals('addressee', address)]),
    ...(status === undefined ? [] : [equals('status', status)]),
    ...(conversation === undefined ? [] : [equals('conversation', conversation)]),
  ),
  since,
  within: { index: 'byList', pk: listingsKey(project, requester) },
});
