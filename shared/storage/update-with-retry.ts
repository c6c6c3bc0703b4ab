import { ParleyError } from '../kernel/errors.ts';
import type { Change } from '../ports/conditions.ts';
import type { Item, Records, Ref } from '../ports/records.ts';

export type UpdateResult<T extends Item> =
  | { outcome: 'changed'; before?: T; after: T; replayed?: true }
  | { outcome: 'unchanged'; record: T };

type UpdateDecision = Change | 'unchanged';

/** A refusal may be due to a harmless write in between; more than three of those in a row are no accident. */
const MAX_CONFLICTS = 3;

/**
 * Changes one record by one conditional write. `blind` is written without a look at the record. Where it is refused, or
 * where there is none, `decide` judges the record as it is: the next change to try, `unchanged`, or a thrown refusal.
 */
export const updateWithRetry = async <T extends Item>(
  records: Records,
  ref: Ref<T>,
  token: string,
  optimisticChange: Change | undefined,
  decide: (record: T | undefined) => UpdateDecision | Promise<UpdateDecision>,
): Promise<UpdateResult<T>> => {
  let change = optimisticChange;
  let seen = optimisticChange ? undefined : await records.get(ref);
  let refusals = 0;
  for (;;) {
    if (change === undefined) {
      const decision = await decide(seen);
      if (decision === 'unchanged') {
        if (seen === undefined) throw new Error(`${ref.pk} is absent and cannot stay unchanged`);
        return { outcome: 'unchanged', record: seen };
      }
      change = decision;
    }
    const written = await records.update(ref, change, token);
    if (written.outcome === 'written') return { ...written, outcome: 'changed' };
    if (++refusals > MAX_CONFLICTS) throw conflictError(ref.pk);
    seen = written.existing;
    change = undefined;
  }
};

const conflictError = (pk: string): ParleyError =>
  new ParleyError('conflict', `Too many writes to ${pk} at once. Try again.`, { retryable: true });
