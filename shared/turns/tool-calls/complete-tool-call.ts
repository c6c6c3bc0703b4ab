import { buildBatchEndChange as batchEnded } from '../../batches/record-item-end.ts';
import type { Deps } from '../../identity/deps.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import type { ToolReport } from '../../model/agent-state.ts';
import { batchRef } from '../../model/batch.ts';
import { correlationRef } from '../../model/correlation.ts';
import { taskRef } from '../../model/task.ts';
import { toToolCallTaskId } from '../../model/tool-call.ts';
import { mergeChanges } from '../../ports/conditions.ts';
import { buildCancelTransition, buildEndChange, toTransitionContext } from '../../tasks/transitions/end-and-requeue.ts';
import { requireOpen, toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { forceStop } from '../lifecycle/stop-turn.ts';

/** A report completes the task of the call. */
export const completeToolCallTask = async (
  deps: Deps,
  project: string,
  turn: string,
  toolCall: string,
  { status, card }: Pick<ToolReport, 'status' | 'card'>,
): Promise<void> => {
  const when = toTransitionContext(deps);
  const output = { json: { status, tool_result_card_id: card } };
  const change = mergeChanges(buildEndChange('completed', when), { set: { output }, unset: ['error', 'byList'] });
  await deps.records.update(
    taskRef(project, toToolCallTaskId(turn, toolCall)),
    toConditionalUpdate({ rules: [requireOpen], change }),
    deps.newId(),
  );
};

export const cancelToolCall = async (deps: Deps, project: string, turn: string, toolCall: string): Promise<void> => {
  const id = toToolCallTaskId(turn, toolCall);
  const when = toTransitionContext(deps);
  const task = await deps.records.update(
    taskRef(project, id),
    toConditionalUpdate(buildCancelTransition(SYSTEM_SENDER, when)),
    deps.newId(),
  );
  if (task.outcome === 'written' || task.existing) return;
  const batch = await deps.records.get(batchRef(project, id));
  if (batch) {
    if (batch.status === 'open')
      await deps.records.update(batchRef(project, id), batchEnded(deps, batch, 'timeout'), deps.newId());
    return;
  }
  const correlationRecord = await deps.records.get(correlationRef(project, id, 'enqueue', 'request'));
  if (correlationRecord) await forceStop(deps, project, correlationRecord.turn, 'The turn that called it has ended.');
};
