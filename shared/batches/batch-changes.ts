import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { encoderOf } from '../dialects/encoders.ts';
import type { Effect } from '../dispatch/effect.ts';
import type { JsonObject } from '../json/json.ts';
import { is } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { RecordChange } from '../ports/records.ts';
import { relayedBatch } from '../relay/relayed.ts';
import { sow } from '../seeds/sow.ts';
import { forked } from '../turns/fork-join.ts';
import { type Batch, batchRef } from './batch.ts';
import { noteOf } from './batch-view.ts';
import { ended, join } from './join.ts';

/** Makes the tasks that the batch does not have yet. One that can no longer be made has failed. */
export const begun = async (deps: Deps, batch: Batch): Promise<void> => {
  if (!batch.seeds || batch.status !== 'open') return;
  const ref = batchRef(batch.project, batch.id);
  try {
    const refused = await sow(deps, { ...batch, trace: batch }, batch.seeds);
    for (const { seed, error } of refused) {
      const { code, message } = error;
      if (seed.joins) await join(deps, batch.project, seed.joins, { status: 'failed', error: { code, message } });
    }
    await deps.records.update(
      ref,
      { if: is('status', 'open'), set: { due: batch.deadline }, unset: ['seeds'] },
      deps.newId(),
    );
  } catch (error) {
    // Somebody else may have made the last of them, and with that the requests are gone.
    const current = await deps.records.get(ref);
    if (current?.seeds) throw error;
  }
};

/** What time does to a batch: what was not begun is begun, and at its deadline it ends. */
export const onBatchDue = async (deps: Deps, batch: Batch): Promise<void> => {
  const ref = batchRef(batch.project, batch.id);
  if (batch.status === 'open' && batch.deadline <= deps.clock.now()) {
    await deps.records.update(ref, ended(deps, batch, 'timeout'), deps.newId());
  } else if (batch.status === 'open' && batch.seeds) {
    await begun(deps, batch);
  } else if (batch.status === 'open' && batch.forks) {
    await forked(deps, batch);
  } else {
    const due = batch.status === 'open' ? { set: { due: batch.deadline } } : { unset: ['due'] };
    await deps.records.update(ref, { ...due, if: is('v', batch.v) }, deps.newId());
  }
};

/** Everything that follows from one write to a batch. What is still running when it ends is stopped. */
export const batchEffects = ({ before, after }: RecordChange<Batch>): Effect[] => {
  const effects: Effect[] = [];
  if (!before && after) effects.push({ kind: 'announce', event: eventOf('batch.requested', after) });
  if (before?.status === 'open' && after && after.status !== 'open') {
    effects.push({ kind: 'announce', event: eventOf('batch.ended', after) });
    if (after.toNats) effects.push({ kind: 'enqueue', message: relayedBatch(after) });
    const stopped = after.parts.filter((_, n) => after.ends[n]?.isStopped);
    effects.push(...stopped.map((part) => ({ kind: 'stopPart' as const, project: after.project, part })));
  }
  return effects;
};

const eventOf = (type: 'batch.requested' | 'batch.ended', batch: Batch): ParleyEvent => ({
  id: `batch/${batch.id}:${batch.v}:${type}`,
  project: batch.project,
  type,
  at: batch.at,
  data: {
    batchId: batch.id,
    from: batch.from,
    parts: batch.parts.length,
    traceparent: batch.traceparent,
    ...(type === 'batch.ended' && { status: batch.status, ends: countsOf(batch), delivered: deliveredBy(batch) }),
  },
});

/** For the log of messages. */
const deliveredBy = (batch: Batch): JsonObject[] | undefined => {
  if (batch.heardIn === undefined) return undefined;
  const note = noteOf(batch);
  const { type = note.type } = encoderOf(dialectNamed(batch.heardIn)).encodeNote(note, null);
  return [{ id: note.id, from: note.from, to: note.to, type, waitedMs: batch.at - batch.createdAt }];
};

/** How many parts ended in each way. */
const countsOf = ({ ends }: Batch): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of Object.values(ends)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
