import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { uuidFromSeed } from '../kernel/ids.ts';
import type { Batch, BatchEnd, BatchItemEnd } from '../model/batch.ts';
import { batchRef } from '../model/batch.ts';
import { inboxSortKey } from '../model/delivery.ts';
import type { BatchMembership } from '../model/task.ts';
import { and, type Change, equals, exists, greaterThan } from '../ports/conditions.ts';
import { updateWithRetry } from '../storage/update-with-retry.ts';

/** Of the outcome of the batch. */
export const getBatchMessageId = ({ id }: Pick<Batch, 'id'>): string => uuidFromSeed(['batch end', id]);

/**
 * One write per item. For the last one, or the first failure of a batch that fails fast, it also ends the batch. Each item
 * counts once, and nothing changes after the end.
 */
export const recordItemEnd = async (
  deps: Deps,
  project: string,
  { batchId: id, index }: BatchMembership,
  end: BatchItemEnd,
): Promise<void> => {
  const isFailure = end.status !== 'completed';
  const counted = { set: { [`itemEnds.${index}`]: end }, unset: [`openItems.${index}`], add: { openCount: -1 } };
  const isOneOfMany = and(equals('status', 'open'), exists(`openItems.${index}`), greaterThan('openCount', 1));
  const optimisticChange = { ...counted, if: isFailure ? and(isOneOfMany, equals('failFast', false)) : isOneOfMany };
  try {
    await updateWithRetry(deps.records, batchRef(project, id), deps.newId(), optimisticChange, (batch) => {
      if (!batch) throw batchNotFoundError(id);
      if (batch.status !== 'open' || !batch.openItems[index]) return 'unchanged';
      const isEnd = batch.openCount === 1 || (batch.failFast && isFailure);
      if (!isEnd) return { ...counted, if: equals('v', batch.v) };
      return buildBatchEndChange(deps, { ...batch, itemEnds: { ...batch.itemEnds, [index]: end } });
    });
  } catch (error) {
    // The batch has expired.
    if (!(error instanceof ParleyError && error.code === 'batch_not_found')) throw error;
  }
};

export const batchNotFoundError = (id: string): ParleyError =>
  new ParleyError('batch_not_found', `There is no batch ${id}.`);

/** Conditional on the version. The batch is then in the index of its requester's inbox. */
export const buildBatchEndChange = ({ clock, config }: Deps, batch: Batch, why?: 'timeout' | 'cancelled'): Change => {
  const now = clock.now();
  const stopped: BatchItemEnd = { status: 'cancelled', isStopped: true };
  const ends = Object.fromEntries(batch.items.map((_, n) => [n, batch.itemEnds[n] ?? stopped]));
  return {
    if: equals('v', batch.v),
    set: {
      status: why ?? computeBatchEnd(Object.values(ends)),
      endedAt: now,
      expires: now + config.tasks.retentionMs,
      openItems: {},
      openCount: 0,
      itemEnds: ends,
      ...(batch.byList && { 'byList.sk': inboxSortKey(now, getBatchMessageId(batch)) }),
    },
    unset: ['due', 'pendingRequests', 'pendingTurns'],
  };
};

const computeBatchEnd = (ends: BatchItemEnd[]): BatchEnd => {
  const completed = ends.filter(({ status }) => status === 'completed').length;
  if (completed === ends.length) return 'success';
  return completed > 0 ? 'partial' : 'failed';
};
