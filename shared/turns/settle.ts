import { batchRef } from '../batches/batch.ts';
import { ended as batchEnded } from '../batches/join.ts';
import type { Deps } from '../deps.ts';
import { PARLEY } from '../inbox/delivery.ts';
import { inOrder } from '../ports/conditions.ts';
import { cancel, endedAs } from '../tasks/ends.ts';
import { open, unseen } from '../tasks/rules.ts';
import { taskRef } from '../tasks/task.ts';
import { edgeRef } from './edge.ts';
import type { ToolReport } from './head.ts';
import { stopWhatever } from './stop.ts';
import { callIdOf } from './tool-call.ts';

/** A tool has reported: the task that brought it the command is done, though nobody said so in words of tasks. */
export const settleCall = async (
  deps: Deps,
  project: string,
  turn: string,
  toolCall: string,
  { status, card }: Pick<ToolReport, 'status' | 'card'>,
): Promise<void> => {
  const when = { now: deps.clock.now(), limits: deps.config.tasks };
  const output = { json: { status, tool_result_card_id: card } };
  const change = inOrder(endedAs('completed', when), { set: { output }, unset: ['error', 'placed'] });
  await deps.records.update(
    taskRef(project, callIdOf(turn, toolCall)),
    unseen({ rules: [open], change }),
    deps.newId(),
  );
};

/** Nobody waits for the call any more: whatever does its work is stopped. */
export const cancelCall = async (deps: Deps, project: string, turn: string, toolCall: string): Promise<void> => {
  const id = callIdOf(turn, toolCall);
  const when = { now: deps.clock.now(), limits: deps.config.tasks };
  const task = await deps.records.update(taskRef(project, id), unseen(cancel(PARLEY, when)), deps.newId());
  if (task.outcome === 'written' || task.current) return;
  const batch = await deps.records.get(batchRef(project, id));
  if (batch) {
    if (batch.status === 'open')
      await deps.records.update(batchRef(project, id), batchEnded(deps, batch, 'timeout'), deps.newId());
    return;
  }
  const edge = await deps.records.get(edgeRef(project, id, 'enqueue', 'request'));
  if (edge) await stopWhatever(deps, project, edge.turn, 'The turn that called it has ended.');
};
