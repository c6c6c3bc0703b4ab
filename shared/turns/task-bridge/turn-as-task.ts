import { putCard } from '../../cards/put-card.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import type { Deps } from '../../identity/deps.ts';
import { isPermanent } from '../../kernel/errors.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { pickTraceFields } from '../../kernel/trace.ts';
import type { TurnEnd } from '../../model/agent-state.ts';
import { type Task, taskRef } from '../../model/task.ts';
import type { TurnTaskLink } from '../../model/tool-call.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { loadContent } from '../../storage/content.ts';
import { createTask } from '../../tasks/commands/create-task.ts';
import { buildCancelTransition, toTransitionContext } from '../../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { endTurn } from '../lifecycle/end-turn.ts';
import { toTurnResult } from '../tool-calls/report-result.ts';

/** For agents of other dialects: a task under the same id. */
export const createTaskForTurn = async (deps: Deps, turn: Turn): Promise<void> => {
  if (!(await hasTurnEnded(deps, turn))) await createTurnTask(deps, turn);
  // A stop before the creation found no task to cancel.
  if (await hasTurnEnded(deps, turn)) await cancelTurnTask(deps, turn);
};

const hasTurnEnded = async ({ records }: Deps, { project, id }: Turn): Promise<boolean> => {
  const turn = await records.get(turnRef(project, id));
  return !turn || turn.end !== undefined;
};

export const cancelTurnTask = async (deps: Deps, { project, id }: Pick<Turn, 'project' | 'id'>): Promise<void> => {
  const change = toConditionalUpdate(buildCancelTransition(SYSTEM_SENDER, toTransitionContext(deps)));
  await deps.records.update(taskRef(project, id), change, deps.newId());
};

const createTurnTask = async (deps: Deps, turn: Turn): Promise<void> => {
  const { id } = turn;
  const { channel, depth, protocolVersion } = turn;
  const link: TurnTaskLink = { channel, depth, turn: id, protocolVersion };
  const trace = pickTraceFields(turn);
  try {
    await createTask(
      deps,
      { project: turn.project, role: 'admin' },
      turnProtocol.dialect,
      {
        kind: 'request',
        messageId: id,
        taskId: id,
        fingerprint: computeFingerprint([id]),
        from: turn.from,
        delegationChain: turn.callers,
        to: turn.agent,
        isBoundedByDepth: true,
        capability: turnProtocol.taskCapability,
        priority: 'normal',
        ttlSeconds: Math.round(deps.config.turns.retentionMs / 1000),
        input: { ...turn.payload, context_box_id: turn.contextBox },
        extensions: turnProtocol.toExtensions(link),
        ...turnProtocol.fromHeaders(turn.headers ?? {}),
        trace,
      },
      trace,
    );
  } catch (error) {
    if (!isPermanent(error)) throw error;
    const end: TurnEnd = { status: 'failed', at: deps.clock.now(), error: error.message, errorCode: error.code };
    await endTurn(deps, turn, end);
  }
};

/** The result becomes a card. */
export const completeFromTask = async (deps: Deps, task: Task, turnId: string): Promise<void> => {
  const turn = await deps.records.get(turnRef(task.project, turnId));
  if (!turn) return;
  const output = task.output && (await loadContent(deps.blobs, task.project, task.output));
  const card =
    output === undefined
      ? undefined
      : await putCard(deps, task.project, task.holder ?? SYSTEM_SENDER, 'task.deliverable', output);
  await endTurn(deps, turn, {
    status: toTurnResult(task),
    at: task.endedAt ?? task.at,
    deliverable: card?.id,
    error: task.error?.message,
    errorCode: task.error?.code,
  });
};
