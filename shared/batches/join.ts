import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { idFrom } from '../ids.ts';
import { inboxOrder } from '../inbox/delivery.ts';
import { perform } from '../perform.ts';
import { above, all, type Change, is, present } from '../ports/conditions.ts';
import type { Joins } from '../tasks/task.ts';
import type { Batch, BatchEnd, PartEnd } from './batch.ts';
import { batchRef } from './batch.ts';

/** The id of the message that tells how the batch ended. */
export const messageIdOf = ({ id }: Pick<Batch, 'id'>): string => idFrom(`batch/${id}`);

/**
 * A part has ended: one write, which for the last one, or for the first failure of a batch that fails fast, is the end of the
 * batch too. Each part counts once; whatever comes after the end changes nothing.
 */
export const join = async (deps: Deps, project: string, { batch: id, child }: Joins, end: PartEnd): Promise<void> => {
  const isFailure = end.status !== 'completed';
  const counted = { set: { [`ends.${child}`]: end }, unset: [`open.${child}`], add: { left: -1 } };
  const isOneOfMany = all(is('status', 'open'), present(`open.${child}`), above('left', 1));
  const blind = { ...counted, if: isFailure ? all(isOneOfMany, is('failFast', false)) : isOneOfMany };
  try {
    await perform(deps.records, batchRef(project, id), deps.newId(), blind, (batch) => {
      if (!batch) throw notFound(id);
      if (batch.status !== 'open' || !batch.open[child]) return 'unchanged';
      const isEnd = batch.left === 1 || (batch.failFast && isFailure);
      if (!isEnd) return { ...counted, if: is('v', batch.v) };
      return ended(deps, { ...batch, ends: { ...batch.ends, [child]: end } });
    });
  } catch (error) {
    // It ended long ago, and is no longer kept.
    if (!(error instanceof ParleyError && error.code === 'batch_not_found')) throw error;
  }
};

export const notFound = (id: string): ParleyError => new ParleyError('batch_not_found', `There is no batch ${id}.`);

/** The end of the batch, if nobody wrote in between. It then stands in its requester's inbox itself, if it is to. */
export const ended = ({ clock, config }: Deps, batch: Batch, why?: 'timeout'): Change => {
  const now = clock.now();
  const stopped: PartEnd = { status: 'cancelled', isStopped: true };
  const ends = Object.fromEntries(batch.parts.map((_, n) => [n, batch.ends[n] ?? stopped]));
  return {
    if: is('v', batch.v),
    set: {
      status: why ?? verdictOn(Object.values(ends)),
      endedAt: now,
      expires: now + config.tasks.keepMs,
      open: {},
      left: 0,
      ends,
      ...(batch.placed && { 'placed.s': inboxOrder(now, messageIdOf(batch)) }),
    },
    unset: ['due', 'seeds', 'forks'],
  };
};

const verdictOn = (ends: PartEnd[]): BatchEnd => {
  const completed = ends.filter(({ status }) => status === 'completed').length;
  if (completed === ends.length) return 'success';
  return completed > 0 ? 'partial' : 'failed';
};
