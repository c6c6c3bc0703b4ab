import type { Batch } from '../batches/batch.ts';
import type { Deps } from '../deps.ts';
import { isObject, type Json } from '../json/json.ts';
import { loaded } from '../tasks/content.ts';
import type { Task } from '../tasks/task.ts';
import { childOf, type Trace } from '../trace.ts';
import { summaryOf, toolResultOf } from './deliverable.ts';
import type { Ending, TurnEnd } from './head.ts';
import { report } from './report.ts';
import { controlIn, type ToolCall } from './tool-call.ts';
import { type Turn, turnRef } from './turn.ts';

/** How the end of a task is called in this protocol. */
export const endingOf = ({ status }: Pick<Task, 'status'>): Ending => {
  if (status === 'completed') return 'success';
  if (status === 'expired') return 'timeout';
  return status === 'cancelled' ? 'canceled' : 'failed';
};

interface Answer {
  result?: Json;
  error?: string;
  error_code?: string;
}

/** Whatever did the work of the call; its trace comes back with the report. */
interface Work extends Trace {
  project: string;
}

const answered = async (deps: Deps, work: Work, call: ToolCall, status: Ending, answer: Answer): Promise<void> => {
  const { project, traceparent, tracestate } = work;
  const card = await toolResultOf(deps, project, call.toolCall, status, answer);
  const type = status === 'timeout' ? 'timeout' : 'tool_result';
  await report(deps, { ...call, project }, call.toolCall, call, {
    type,
    status,
    afterExecution: controlIn(answer.result) ?? call.afterExecution,
    card,
    ...childOf({ traceparent, tracestate }),
  });
};

/** A task that did the work of a call has ended, in whatever dialect. */
export const answerWithTask = async (deps: Deps, task: Task, call: ToolCall): Promise<void> => {
  const output = task.output && (await loaded(deps.blobs, task.project, task.output));
  // It ended because the tool has reported already.
  if (task.endedBy === undefined && isObject(output) && output.tool_result_card_id !== undefined) return;
  if (task.status === 'expired') {
    // A timeout report that stands for a tool never ends the turn, whoever is first to see that its time is over.
    const waited = { ...call, afterExecution: 'suspend' as const };
    await answered(deps, task, waited, 'timeout', { error: 'Nobody took the command in time.' });
    return;
  }
  const answer = { result: output, error: task.error?.message, error_code: task.error?.code };
  await answered(deps, task, call, endingOf(task), answer);
};

/** A turn that did the work of a call has ended. */
export const answerWithTurn = async (deps: Deps, turn: Turn, call: ToolCall, end: TurnEnd): Promise<void> => {
  const result = { status: end.status, ...shownEnd(turn, end) };
  await answered(deps, turn, call, end.status, { result, error: end.error, error_code: end.errorCode });
};

const shownEnd = ({ id, agent }: Turn, { deliverable, outputBox }: TurnEnd) => ({
  agent_turn_id: id,
  agent_id: agent,
  deliverable_card_id: deliverable,
  output_box_id: outputBox,
});

/** A batch that did the work of a call has ended: one result for all of its turns, in their order. */
export const answerWithBatch = async (deps: Deps, batch: Batch, call: ToolCall): Promise<void> => {
  const { project, parts, ends, status } = batch;
  if (status === 'open') return;
  const turns = await deps.records.getMany(parts.map(({ id }) => turnRef(project, id)));
  const ended = parts.map(({ id }) => turns.find((one) => one.id === id));
  const summaries = await Promise.all(ended.map((turn) => summaryOf(deps, project, turn?.end?.deliverable)));
  const results = ended.map((turn, task_index) => {
    const end = ends[task_index];
    return {
      task_index,
      // The turn itself tells a timeout from a failure, and what is partial.
      status: (end?.isStopped ? undefined : turn?.end?.status) ?? (end ? endingOf(end) : 'canceled'),
      ...(turn && shownEnd(turn, turn.end ?? { status: 'canceled', at: 0 })),
      summary: summaries[task_index],
      error: end?.error?.message,
      error_code: end?.error?.code,
    };
  });
  await answered(deps, batch, call, status, { result: { status, results } });
};
