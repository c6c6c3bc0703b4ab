import { getCard } from '../../cards/put-card.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent, ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import type { Json } from '../../kernel/json/json.ts';
import type { TurnEnd } from '../../model/agent-state.ts';
import type { ProgressMessage } from '../../model/command.ts';
import type { Turn } from '../../model/turn.ts';
import type { RecordedStep, TurnEffect } from '../../model/turn-effect.ts';
import { loadContent } from '../../storage/content.ts';
import { applyReport } from '../../tasks/commands/apply-report.ts';
import { renewLease } from '../../tasks/commands/manage-task.ts';

/** With the content of its deliverable. */
export const completeTaskFromTurn = async (deps: Deps, turn: Turn, end: TurnEnd): Promise<void> => {
  const sender = await deps.directory.getAgent(turn.project, turn.agent);
  if (!sender || turn.task === undefined) return;
  const id = uuidFromSeed(['end', turn.id]);
  const { status, deliverable, outputBox } = end;
  const link = { agent_turn_id: turn.id, status, deliverable_card_id: deliverable, output_box_id: outputBox };
  const about = {
    messageId: id,
    fingerprint: id,
    from: turn.agent,
    taskId: turn.task,
    extensions: turnProtocol.toExtensions(link),
  };
  const isDone = status === 'success' || status === 'partial';
  try {
    if (isDone)
      await applyReport(deps, sender, { ...about, kind: 'complete', output: await loadDeliverable(deps, turn, end) });
    // A result counts for any attempt; a failure only for the attempt of the turn.
    else
      await applyReport(deps, sender, {
        ...about,
        attempt: turn.attempt,
        kind: 'fail',
        error: toTaskErrorFromTurn(end),
      });
  } catch (error) {
    // It was cancelled, or the lease is lost.
    if (!isPermanent(error)) throw error;
  }
};

/** If the worker names none. */
const DEFAULT_ERROR_CODES: Partial<Record<TurnEnd['status'], string>> = { timeout: 'timeout', canceled: 'CANCELLED' };

/** A lost worker may be retried; an error of the agent is final. */
const toTaskErrorFromTurn = ({ status, error, errorCode }: TurnEnd) => ({
  code: errorCode ?? DEFAULT_ERROR_CODES[status] ?? 'internal_error',
  message: error ?? `The turn ended ${status}.`,
  retryable: errorCode === 'reaped' || status === 'timeout',
});

/** An expired deliverable is only named. */
const loadDeliverable = async (deps: Deps, { project }: Turn, { deliverable = '' }: TurnEnd): Promise<Json> => {
  try {
    return await loadContent(deps.blobs, project, (await getCard(deps, project, deliverable)).content);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return { deliverable_card_id: deliverable };
  }
};

type TaskRenewal = Pick<Extract<TurnEffect, { kind: 'renewTask' }>, 'project' | 'agent' | 'task' | 'step'>;

/** A step of the turn renews the lease. */
export const renewTaskFromTurn = async (deps: Deps, { project, agent, task, step }: TaskRenewal): Promise<void> => {
  const holder = await deps.directory.getAgent(project, agent);
  if (!holder) return;
  try {
    if (step) await applyReport(deps, holder, toProgressMessage(agent, task, step));
    else await renewLease(deps, holder, task);
  } catch (error) {
    if (!isPermanent(error)) throw error;
  }
};

/** Larger metadata is only in the event of the step. */
const MAX_METADATA_BYTES = 8 * 1024;
const MAX_PROGRESS_TEXT = 4000;

/** Progress and message, if the step has them. */
const toProgressMessage = (
  agent: string,
  taskId: string,
  { turn, number, id, phase, metadata }: RecordedStep,
): ProgressMessage => {
  const messageId = uuidFromSeed(['step', turn, number]);
  const { progress: percent, message } = metadata ?? {};
  const isLarge = JSON.stringify(metadata ?? {}).length > MAX_METADATA_BYTES;
  return {
    kind: 'progress',
    messageId,
    fingerprint: messageId,
    from: agent,
    taskId,
    progress: {
      percent: typeof percent === 'number' && percent >= 0 && percent <= 100 ? percent : undefined,
      message: typeof message === 'string' ? message.slice(0, MAX_PROGRESS_TEXT) : phase,
      extensions: turnProtocol.toExtensions({
        agent_turn_id: turn,
        step_id: id,
        phase,
        metadata: isLarge ? undefined : metadata,
      }),
    },
  };
};
