import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { inboxSortKey } from '../../messaging/inbox/delivery.ts';
import { and, type Change, equals, exists, greaterThan } from '../../ports/conditions.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import type { BatchMembership } from '../../tasks/model/task.ts';
import type { Batch, BatchEnd, BatchItemEnd } from './batch.ts';
import { batchRef } from './batch.ts';

/** The id of the message that tells how the batch ended. */
export const getBatchMessageId = ({ id }: Pick<Batch, 'id'>): string => uuidFromSeed(['batch end', id]);

/**
 * A part has ended: one write, which for the last one, or for the first failure of a batch that fails fast, is the end of the
 * batch too. Each part counts once; whatever comes after the end changes nothing.
 */
export const recordItemEnd = async (
  deps: Deps,
  project: string,
  { batch: id, child }: BatchMembership,
  end: BatchItemEnd,
): Promise<void> => {
  const isFailure = end.status !== 'completed';
  const counted = { set: { [`ends.${child}`]: end }, unset: [`open.${child}`], add: { left: -1 } };
  const isOneOfMany = and(equals('status', 'open'), exists(`open.${child}`), greaterThan('left', 1));
  const blind = { ...counted, if: isFailure ? and(isOneOfMany, equals('failFast', false)) : isOneOfMany };
  try {
    await updateWithRetry(deps.records, batchRef(project, id), deps.newId(), blind, (batch) => {
      if (!batch) throw batchNotFoundError(id);
      if (batch.status !== 'open' || !batch.open[child]) return 'unchanged';
      const isEnd = batch.left === 1 || (batch.failFast && isFailure);
      if (!isEnd) return { ...counted, if: equals('v', batch.v) };
      return buildBatchEndChange(deps, { ...batch, ends: { ...batch.ends, [child]: end } });
    });
  } catch (error) {
    // It ended long ago, and is no longer kept.
    if (!(error instanceof ParleyError && error.code === 'batch_not_found')) throw error;
  }
};

export const batchNotFoundError = (id: string): ParleyError =>
  new ParleyError('batch_not_found', `There is no batch ${id}.`);

/** The end of the batch, if nobody wrote in between. It then stands in its requester's inbox itself, if it is to. */
export const buildBatchEndChange = ({ clock, config }: Deps, batch: Batch, why?: 'timeout'): Change => {
  const now = clock.now();
  const stopped: BatchItemEnd = { status: 'cancelled', isStopped: true };
  const ends = Object.fromEntries(batch.parts.map((_, n) => [n, batch.ends[n] ?? stopped]));
  return {
    if: equals('v', batch.v),
    set: {
      status: why ?? computeBatchEnd(Object.values(ends)),
      endedAt: now,
      expires: now + config.tasks.retentionMs,
      open: {},
      left: 0,
      ends,
      ...(batch.placed && { 'placed.s': inboxSortKey(now, getBatchMessageId(batch)) }),
    },
    unset: ['due', 'seeds', 'forks'],
  };
};

const computeBatchEnd = (ends: BatchItemEnd[]): BatchEnd => {
  const completed = ends.filter(({ status }) => status === 'completed').length;
  if (completed === ends.length) return 'success';
  return completed > 0 ? 'partial' : 'failed';
};
