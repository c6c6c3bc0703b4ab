import type { Deps } from '../deps.ts';
import { perform } from '../perform.ts';
import { onSeen, unseen } from '../tasks/rules.ts';
import type { Holder } from './advance.ts';
import { type Head, headRef, ownIn, type ToolReport } from './head.ts';
import { isGated } from './rules.ts';
import { beforeDeadline, type Claims, notNearDeadline, report as reported } from './transitions.ts';

/** Why a report changed nothing. */
export type Ignored = 'late' | 'unknown' | 'duplicate';

/** What a tool says to the turn that waits for it: it counts once. What nobody waits for any more is taken and forgotten. */
export const report = async (
  deps: Deps,
  holder: Holder,
  toolCall: string,
  claims: Claims,
  said: Omit<ToolReport, 'at'>,
): Promise<{ ignored?: Ignored }> => {
  const when = { now: deps.clock.now(), limits: deps.config.turns };
  const transition = reported(holder, toolCall, claims, { ...said, at: when.now }, when);
  const ref = headRef(holder.project, holder.agent);
  let ignored: Ignored | undefined;
  const blind = unseen(transition, notNearDeadline(when));
  const token = deps.newId();
  const absent = { outcome: 'late' as const };
  try {
    await perform(deps.records, ref, token, blind, (head) => {
      if (!head) throw absent;
      ignored = ignoredBy(head, holder, toolCall);
      if (ignored) return 'unchanged';
      const decision = onSeen(head, beforeDeadline(transition, head.deadline));
      if (decision instanceof Error) throw decision;
      return decision;
    });
  } catch (error) {
    if (error === absent) return { ignored: 'late' };
    throw error;
  }
  return { ignored };
};

export const ignoredBy = (head: Head, holder: Holder, toolCall: string): Ignored | undefined => {
  if (!isGated(holder, head)) return 'late';
  const state = ownIn(head.waiting, toolCall);
  if (state === 'waiting') return undefined;
  return state === undefined ? 'unknown' : 'duplicate';
};
