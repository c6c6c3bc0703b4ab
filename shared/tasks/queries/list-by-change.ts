import { listingsKey, type TaskListing, toListedListing } from '../../model/task-listing.ts';
import { and, equals } from '../../ports/conditions.ts';
import type { ListQuery } from '../../ports/lists.ts';

interface ListingFilter {
  requester: string;
  address?: string | undefined;
  status?: string | undefined;
  conversation?: string | undefined;
  /** Changed at this time or later. */
  since?: number | undefined;
}

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
