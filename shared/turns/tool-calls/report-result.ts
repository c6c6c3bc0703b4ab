import type { Deps } from '../../identity/deps.ts';
import { isObject, type Json } from '../../kernel/json/json.ts';
import { createChildSpan, type Trace } from '../../kernel/trace.ts';
import type { TurnEnd, TurnResult } from '../../model/agent-state.ts';
import type { Batch } from '../../model/batch.ts';
import type { Task } from '../../model/task.ts';
import { parseAfterExecutionControl, type ToolCall } from '../../model/tool-call.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { loadContent } from '../../storage/content.ts';
import { createToolResultCard, loadSummary } from '../lifecycle/result-cards.ts';
import { recordToolReport } from './record-report.ts';

export const toTurnResult = ({ status }: Pick<Task, 'status'>): TurnResult => {
  if (status === 'completed') return 'success';
  if (status === 'expired') return 'timeout';
  return status === 'cancelled' ? 'canceled' : 'failed';
};

interface CallAnswer {
  result?: Json;
  error?: { code: string; message: string };
}

/** Its trace is that of the report. */
interface CallWork extends Trace {
  project: string;
}

const sendCallReport = async (
  deps: Deps,
  work: CallWork,
  call: ToolCall,
  status: TurnResult,
  answer: CallAnswer,
): Promise<void> => {
  const { project, traceparent, tracestate } = work;
  const { result, error = explainEnd(status) } = answer;
  const afterExecution = parseAfterExecutionControl(result) ?? call.afterExecution;
  const card = await createToolResultCard(deps, project, { status, afterExecution, result, error });
  const type = status === 'timeout' ? 'timeout' : 'tool_result';
  await recordToolReport(deps, { ...call, project }, call.toolCall, call, {
    type,
    status,
    afterExecution,
    card,
    ...createChildSpan({ traceparent, tracestate }),
  });
};

/** Readers expect an error for every end without a result. */
const explainEnd = (status: TurnResult): CallAnswer['error'] => {
  if (status === 'success' || status === 'partial') return undefined;
  return { code: status === 'timeout' ? 'tool_timeout' : status, message: `It ended ${status}.` };
};

export const reportTaskResult = async (deps: Deps, task: Task, call: ToolCall): Promise<void> => {
  const output = task.output && (await loadContent(deps.blobs, task.project, task.output));
  // The report itself completed it.
  if (task.endMessage === undefined && isObject(output) && output.tool_result_card_id !== undefined) return;
  if (task.status === 'expired') {
    // A timeout report never ends the turn, whoever writes it first.
    const waited = { ...call, afterExecution: 'suspend' as const };
    await sendCallReport(deps, task, waited, 'timeout', {
      error: { code: 'tool_timeout', message: 'Nobody took the command in time.' },
    });
    return;
  }
  await sendCallReport(deps, task, call, toTurnResult(task), { result: output, error: task.error });
};

export const reportTurnResult = async (deps: Deps, turn: Turn, call: ToolCall, end: TurnEnd): Promise<void> => {
  const result = { status: end.status, ...toTurnEndView(turn, end) };
  await sendCallReport(deps, turn, call, end.status, {
    result,
    error: end.error === undefined ? undefined : { code: end.errorCode ?? end.status, message: end.error },
  });
};

const toTurnEndView = ({ id, agent }: Turn, { deliverable, outputBox }: TurnEnd) => ({
  agent_turn_id: id,
  agent_id: agent,
  deliverable_card_id: deliverable,
  output_box_id: outputBox,
});

/** One result for all turns, in their order. */
export const reportBatchResult = async (deps: Deps, batch: Batch, call: ToolCall): Promise<void> => {
  const { project, items, itemEnds, status } = batch;
  if (status === 'open') return;
  const turns = await deps.records.getMany(items.map(({ id }) => turnRef(project, id)));
  const ended = items.map(({ id }) => turns.find((one) => one.id === id));
  const summaries = await Promise.all(ended.map((turn) => loadSummary(deps, project, turn?.end?.deliverable)));
  const results = ended.map((turn, task_index) => {
    const end = itemEnds[task_index];
    return {
      task_index,
      // The turn tells a timeout from a failure, and a partial result.
      status: (end?.isStopped ? undefined : turn?.end?.status) ?? (end ? toTurnResult(end) : 'canceled'),
      ...(turn && toTurnEndView(turn, turn.end ?? { status: 'canceled', at: 0 })),
      summary: summaries[task_index],
      error: end?.error?.message,
      error_code: end?.error?.code,
    };
  });
  const outcome = status === 'cancelled' ? 'canceled' : status;
  await sendCallReport(deps, batch, call, outcome, { result: { status: outcome, results } });
};
