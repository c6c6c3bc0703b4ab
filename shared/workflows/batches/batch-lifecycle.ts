import { getEncoder } from '../../dialects/encoder-registry.ts';
import { getDialect } from '../../dialects/registry.ts';
import type { Effect } from '../../effects/effect.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { buildBatchRelay } from '../../nats/relay-item.ts';
import { equals } from '../../ports/conditions.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { RecordChange } from '../../ports/records.ts';
import { createForkTurns } from '../../turns/tool-calls/fork-join.ts';
import { createPending, type Notices } from '../deferred/create-pending.ts';
import { type Batch, batchRef } from './batch.ts';
import { toDirectMessage } from './batch-view.ts';
import { buildBatchEndChange, recordItemEnd } from './record-item-end.ts';

/** Makes the tasks that the batch does not have yet, and tells what their sender should know. One that can no longer be made has failed. */
export const createBatchItems = async (deps: Deps, batch: Batch): Promise<Notices> => {
  if (!batch.seeds || batch.status !== 'open') return new Map();
  const ref = batchRef(batch.project, batch.id);
  try {
    const { refused, notices } = await createPending(deps, { ...batch, trace: batch }, batch.seeds);
    for (const { seed, error } of refused) {
      const { code, message } = error;
      if (seed.joins)
        await recordItemEnd(deps, batch.project, seed.joins, { status: 'failed', error: { code, message } });
    }
    await deps.records.update(
      ref,
      { if: equals('status', 'open'), set: { due: batch.deadline }, unset: ['seeds'] },
      deps.newId(),
    );
    return notices;
  } catch (error) {
    // Somebody else may have made the last of them, and with that the requests are gone.
    const current = await deps.records.get(ref);
    if (current?.seeds) throw error;
    return new Map();
  }
};

/** What time does to a batch: what was not begun is begun, and at its deadline it ends. */
export const onBatchTimer = async (deps: Deps, batch: Batch): Promise<void> => {
  const ref = batchRef(batch.project, batch.id);
  if (batch.status === 'open' && batch.deadline <= deps.clock.now()) {
    await deps.records.update(ref, buildBatchEndChange(deps, batch, 'timeout'), deps.newId());
  } else if (batch.status === 'open' && batch.seeds) {
    await createBatchItems(deps, batch);
  } else if (batch.status === 'open' && batch.forks) {
    await createForkTurns(deps, batch);
  } else {
    const due = batch.status === 'open' ? { set: { due: batch.deadline } } : { unset: ['due'] };
    await deps.records.update(ref, { ...due, if: equals('v', batch.v) }, deps.newId());
  }
};

/** Everything that follows from one write to a batch. What is still running when it ends is stopped. */
export const computeBatchEffects = ({ before, after }: RecordChange<Batch>): Effect[] => {
  const effects: Effect[] = [];
  if (!before && after) effects.push({ kind: 'announce', event: buildBatchEvent('batch.requested', after) });
  if (before?.status === 'open' && after && after.status !== 'open') {
    effects.push({ kind: 'announce', event: buildBatchEvent('batch.ended', after) });
    if (after.toNats) effects.push({ kind: 'enqueue', message: buildBatchRelay(after) });
    const stopped = after.parts.filter((_, n) => after.ends[n]?.isStopped);
    effects.push(...stopped.map((part) => ({ kind: 'stopPart' as const, project: after.project, part })));
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
    parts: batch.parts.length,
    traceparent: batch.traceparent,
    ...(type === 'batch.ended' && {
      status: batch.status,
      ends: countItemEnds(batch),
      delivered: buildBatchAuditEntries(batch),
    }),
  },
});

/** For the log of messages. */
const buildBatchAuditEntries = (batch: Batch): JsonObject[] | undefined => {
  if (batch.heardIn === undefined) return undefined;
  const note = toDirectMessage(batch);
  const { type = note.type } = getEncoder(getDialect(batch.heardIn)).encodeDirectMessage(note, null);
  return [{ id: note.id, from: note.from, to: note.to, type, waitedMs: batch.at - batch.createdAt }];
};

/** How many parts ended in each way. */
const countItemEnds = ({ ends }: Batch): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of Object.values(ends)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
