import type { Caller } from '../identity/auth/authenticate.ts';
import type { Batch } from '../model/batch.ts';
import { and, equals, equalsAny } from '../ports/conditions.ts';
import type { ListedFields, ListQuery } from '../ports/lists.ts';

export interface BatchFilter {
  /** One of them. */
  status?: readonly Batch['status'][] | undefined;
  requester?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

export const toListedBatch = ({ createdAt, status, from }: Batch): ListedFields => ({
  createdAt,
  status,
  requester: from,
});

/** Agents see those that they requested. */
export const buildBatchQuery = (caller: Caller, { status, requester, since, until }: BatchFilter): ListQuery<Batch> => {
  const where = and(
    ...(status ? [equalsAny('status', ...status)] : []),
    ...(requester === undefined ? [] : [equals('requester', requester)]),
    ...(caller.role === 'agent' ? [equals('requester', caller.registered.agent.id)] : []),
  );
  return { project: caller.project, kind: 'batch', toFields: toListedBatch, where, since, until };
};
