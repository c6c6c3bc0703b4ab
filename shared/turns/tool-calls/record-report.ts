import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { type AgentState, agentStateRef, getOwn, type ToolReport } from '../../model/agent-state.ts';
import type { Condition } from '../../ports/conditions.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import { applyTo, toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import type { TurnHolder } from '../lifecycle/advance-turn.ts';
import { isCurrentToken, staleTurnError } from '../lifecycle/rules.ts';
import {
  capDueAtDeadline,
  type ReportContext,
  buildReportTransition as reported,
  requireDistantDeadline,
  toTurnTransitionContext,
} from '../lifecycle/transitions.ts';

export type IgnoredReason = 'late' | 'unknown' | 'duplicate';

/** Checks the reporter against the agent state, or else against the task of the call. */
export interface ReporterCheck {
  calledCondition: Condition;
  assertCalled: () => Promise<void>;
}

/** Counts once. Without a waiting turn it is ignored. */
export const recordToolReport = async (
  deps: Deps,
  holder: TurnHolder,
  toolCall: string,
  claims: ReportContext,
  report: Omit<ToolReport, 'at'>,
  reporter?: ReporterCheck,
): Promise<{ ignored?: IgnoredReason }> => {
  const when = toTurnTransitionContext(deps);
  const transition = reported(holder, toolCall, claims, { ...report, at: when.now }, when);
  const optimisticChange = toConditionalUpdate(
    transition,
    requireDistantDeadline(when),
    ...(reporter ? [reporter.calledCondition] : []),
  );
  let ignored: IgnoredReason | undefined;
  try {
    await updateWithRetry(
      deps.records,
      agentStateRef(holder.project, holder.agent),
      deps.newId(),
      optimisticChange,
      async (head) => {
        await reporter?.assertCalled();
        if (!head) throw staleTurnError(holder);
        ignored = checkIgnored(head, holder, toolCall);
        if (ignored) return 'unchanged';
        const decision = applyTo(head, capDueAtDeadline(transition, head.deadline));
        if (decision instanceof Error) throw decision;
        return decision;
      },
    );
  } catch (error) {
    // The agent never had a turn.
    if (!(error instanceof ParleyError && error.code === 'stale_turn')) throw error;
    return { ignored: 'late' };
  }
  return { ignored };
};

export const checkIgnored = (head: AgentState, holder: TurnHolder, toolCall: string): IgnoredReason | undefined => {
  if (!isCurrentToken(holder, head)) return 'late';
  const state = getOwn(head.waiting, toolCall);
  if (state === 'waiting') return undefined;
  return state === undefined ? 'unknown' : 'duplicate';
};
