import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { perform } from '../perform.ts';
import type { Condition } from '../ports/conditions.ts';
import { onSeen, unseen } from '../tasks/rules.ts';
import type { Holder } from './advance.ts';
import { type Head, headRef, ownIn, type ToolReport } from './head.ts';
import { isGated, stale } from './rules.ts';
import { beforeDeadline, type Claims, notNearDeadline, report as reported } from './transitions.ts';

/** Why a report changed nothing. */
export type Ignored = 'late' | 'unknown' | 'duplicate';

/** Whoever reports, where that must be who was called: known by the head, or else by what is stored of the call. */
export interface Reporter {
  isCalled: Condition;
  refuseOthers: () => Promise<void>;
}

/** What a tool says to the turn that waits for it: it counts once. What nobody waits for any more is taken and forgotten. */
export const report = async (
  deps: Deps,
  holder: Holder,
  toolCall: string,
  claims: Claims,
  said: Omit<ToolReport, 'at'>,
  reporter?: Reporter,
): Promise<{ ignored?: Ignored }> => {
  const when = { now: deps.clock.now(), limits: deps.config.turns };
  const transition = reported(holder, toolCall, claims, { ...said, at: when.now }, when);
  const blind = unseen(transition, notNearDeadline(when), ...(reporter ? [reporter.isCalled] : []));
  let ignored: Ignored | undefined;
  try {
    await perform(deps.records, headRef(holder.project, holder.agent), deps.newId(), blind, async (head) => {
      await reporter?.refuseOthers();
      if (!head) throw stale(holder);
      ignored = ignoredBy(head, holder, toolCall);
      if (ignored) return 'unchanged';
      const decision = onSeen(head, beforeDeadline(transition, head.deadline));
      if (decision instanceof Error) throw decision;
      return decision;
    });
  } catch (error) {
    // An agent that never had a turn has no head.
    if (!(error instanceof ParleyError && error.code === 'stale_turn')) throw error;
    return { ignored: 'late' };
  }
  return { ignored };
};

export const ignoredBy = (head: Head, holder: Holder, toolCall: string): Ignored | undefined => {
  if (!isGated(holder, head)) return 'late';
  const state = ownIn(head.waiting, toolCall);
  if (state === 'waiting') return undefined;
  return state === undefined ? 'unknown' : 'duplicate';
};
