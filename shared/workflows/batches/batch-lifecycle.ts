import { getReadableBatch, toDirectMessage } from '../../batches/batch-view.ts';
import { batchNotFoundError, buildBatchEndChange, recordItemEnd } from '../../batches/record-item-end.ts';
import { getEncoder } from '../../dialects/encoder-registry.ts';
import { getDialect } from '../../dialects/registry.ts';
import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { type Batch, type BatchItem, batchRef } from '../../model/batch.ts';
import type { Effect } from '../../model/effect.ts';
import { taskRef } from '../../model/task.ts';
import { buildBatchRelay } from '../../nats/relay-item.ts';
import { equals, mergeChanges } from '../../ports/conditions.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { RecordChange } from '../../ports/records.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import { buildCancelTransition, toTransitionContext } from '../../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { forceStop } from '../../turns/lifecycle/stop-turn.ts';
import { createForkTurns } from '../../turns/tool-calls/fork-join.ts';
import { createPending, type Notices } from '../deferred/create-pending.ts';

/** Creates missing tasks. One that is no longer possible has failed. */
export const createBatchItems = async (deps: Deps, batch: Batch): Promise<Notices> => {
  if (!batch.pendingRequests || batch.status !== 'open') return new Map();
  const ref = batchRef(batch.project, batch.id);
  try {
    const { rejected, notices } = await createPending(deps, { ...batch, trace: batch }, batch.pendingRequests);
    for (const { pending, error } of rejected) {
      const { code, message } = error;
      if (pending.batchMembership)
        await recordItemEnd(deps, batch.project, pending.batchMembership, {
          status: 'failed',
          error: { code, message },
        });
    }
    await deps.records.update(
      ref,
      { if: equals('status', 'open'), set: { due: batch.deadline }, unset: ['pendingRequests'] },
      deps.newId(),
    );
    return notices;
  } catch (error) {
    // A concurrent run may have created the last ones.
    const current = await deps.records.get(ref);
    if (current?.pendingRequests) throw error;
    return new Map();
  }
};

/** Creates missing items, and ends the batch at its deadline. */
export const onBatchTimer = async (deps: Deps, batch: Batch): Promise<void> => {
  const ref = batchRef(batch.project, batch.id);
  if (batch.status === 'open' && batch.deadline <= deps.clock.now()) {
    await deps.records.update(ref, buildBatchEndChange(deps, batch, 'timeout'), deps.newId());
  } else if (batch.status === 'open' && batch.pendingRequests) {
    await createBatchItems(deps, batch);
  } else if (batch.status === 'open' && batch.pendingTurns) {
    await createForkTurns(deps, batch);
  } else {
    const due = batch.status === 'open' ? { set: { due: batch.deadline } } : { unset: ['due'] };
    await deps.records.update(ref, { ...due, if: equals('v', batch.v) }, deps.newId());
  }
};

/** Its open items are stopped. Idempotent. */
export const cancelBatch = async (deps: Deps, caller: Caller, id: string, reason?: string): Promise<Batch> => {
  await getReadableBatch(deps, caller, id);
  const by = { cancelledBy: getCallerName(caller), cancelReason: reason };
  const ref = batchRef(caller.project, id);
  const done = await updateWithRetry(deps.records, ref, deps.newId(), undefined, (batch) => {
    if (!batch) throw batchNotFoundError(id);
    if (batch.status === 'cancelled') return 'unchanged';
    if (batch.status !== 'open')
      throw new ParleyError('batch_ended', `The batch ${id} has ended: it is ${batch.status}.`);
    return mergeChanges(buildBatchEndChange(deps, batch, 'cancelled'), { set: by });
  });
  return done.outcome === 'changed' ? done.after : done.record;
};

/** Open items are stopped when the batch ends. */
export const computeBatchEffects = ({ before, after }: RecordChange<Batch>): Effect[] => {
  const effects: Effect[] = [];
  if (!before && after) effects.push({ kind: 'publish', event: buildBatchEvent('batch.requested', after) });
  if (before?.status === 'open' && after && after.status !== 'open') {
    effects.push({ kind: 'publish', event: buildBatchEvent('batch.ended', after) });
    if (after.deliveryTarget) effects.push({ kind: 'enqueue', message: buildBatchRelay(after) });
    const stopped = after.items.filter((_, n) => after.itemEnds[n]?.isStopped);
    effects.push(...stopped.map((part) => ({ kind: 'stopBatchItem' as const, project: after.project, item: part })));
  }
  return effects;
};

const buildBatchEvent = (type: 'batch.requested' | 'batch.ended', batch: Batch): ParleyEvent => ({
  id: `batch/${batch.id}:${batch.v}:${type}`,
  project: batch.project,
  type,
  at: batch.at,
  data: {
    batchId: batch.id,
    from: batch.from,
    items: batch.items.length,
    traceparent: batch.traceparent,
    ...(type === 'batch.ended' && {
      status: batch.status,
      ends: countItemEnds(batch),
      delivered: buildBatchAuditEntries(batch),
    }),
  },
});

const buildBatchAuditEntries = (batch: Batch): JsonObject[] | undefined => {
  if (batch.requesterLogDialect === undefined) return undefined;
  const directMessage = toDirectMessage(batch);
  const { type = directMessage.type } = getEncoder(getDialect(batch.requesterLogDialect)).encodeDirectMessage(
    directMessage,
    null,
  );
  return [
    {
      id: directMessage.id,
      from: directMessage.from,
      to: directMessage.to,
      type,
      waitedMs: batch.at - batch.createdAt,
    },
  ];
};

const countItemEnds = ({ itemEnds }: Batch): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of Object.values(itemEnds)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

type StopItem = (deps: Deps, project: string, id: string) => Promise<void>;

const STOP_BY_KIND: Readonly<Record<BatchItem['kind'], StopItem>> = {
  task: async (deps, project, id) => {
    const stopped = buildCancelTransition(SYSTEM_SENDER, toTransitionContext(deps));
    await deps.records.update(taskRef(project, id), toConditionalUpdate(stopped), deps.newId());
  },
  turn: (deps, project, id) => forceStop(deps, project, id, 'The batch that it was a part of has ended.'),
};

/** Ends an item of a batch, unless it has ended. */
export const stopBatchItem = (deps: Deps, project: string, { kind, id }: BatchItem): Promise<void> =>
  STOP_BY_KIND[kind](deps, project, id);
