import type { Deps } from '../../identity/deps.ts';
import { agentTurnsPk } from '../../model/agent-state.ts';
import { QUEUED_PREFIX, type QueuedTurn, stepRef, turnRef } from '../../model/turn.ts';
import type { TurnEffect } from '../../model/turn-effect.ts';
import { equals, lessThan, notExists, or } from '../../ports/conditions.ts';
import { completeTaskFromTurn, renewTaskFromTurn } from '../task-bridge/sync-task.ts';
import { cancelTurnTask, completeFromTask, createTaskForTurn } from '../task-bridge/turn-as-task.ts';
import { cancelToolCall, completeToolCallTask } from '../tool-calls/complete-tool-call.ts';
import { reportBatchResult, reportTaskResult, reportTurnResult } from '../tool-calls/report-result.ts';
import { completeUiAction } from '../ui-actions/ui-action.ts';
import { sendWakeup } from '../wakeups/wakeups.ts';
import { endTurn } from './end-turn.ts';
import { findOldestGroupTurn } from './group-queues.ts';
import { verifyDeliverable } from './result-cards.ts';
import { forceStop } from './stop-turn.ts';

/** Carries out what follows from a change of a head or a turn. It may come again, and late: every write says what it must find. */
export const executeTurnEffect = async (deps: Deps, effect: TurnEffect): Promise<void> => {
  switch (effect.do) {
    case 'recordLease':
      await recordLease(deps, effect);
      return;
    case 'endTurn':
      await endTurn(
        deps,
        { ...effect, id: effect.turn },
        await verifyDeliverable(deps, effect.project, effect.end),
        effect.steps,
      );
      return;
    case 'putStep':
      await putStep(deps, effect);
      return;
    case 'sendWakeup':
      await sendWakeup(deps, effect.wakeup);
      return;
    case 'wakeIfQueued':
      await wakeIfQueued(deps, effect);
      return;
    case 'putCorrelation':
      await deps.records.create(
        { ...effect.edge, expires: effect.edge.happenedAt + deps.config.turns.retentionMs },
        deps.newId(),
      );
      return;
    case 'completeToolCallTask':
      await completeToolCallTask(deps, effect.project, effect.turn, effect.toolCall, effect.report);
      return;
    case 'cancelToolCall':
      await cancelToolCall(deps, effect.project, effect.turn, effect.toolCall);
      return;
    case 'reportTaskResult':
      await reportTaskResult(deps, effect.task, effect.call);
      return;
    case 'reportTurnResult':
      await reportTurnResult(deps, effect.turn, effect.call, effect.end);
      return;
    case 'reportBatchResult':
      await reportBatchResult(deps, effect.batch, effect.call);
      return;
    case 'createTaskForTurn':
      await createTaskForTurn(deps, effect.turn);
      return;
    case 'completeTask':
      await completeTaskFromTurn(deps, effect.turn, effect.end);
      return;
    case 'renewTask':
      await renewTaskFromTurn(deps, effect);
      return;
    case 'completeUiAction':
      await completeUiAction(deps, effect.project, effect.action, effect.end);
      return;
    case 'cancelTurnTask':
      await cancelTurnTask(deps, { project: effect.project, id: effect.turn });
      return;
    case 'stopTurn':
      await forceStop(deps, effect.project, effect.turn, 'The task that it works on has ended, or is done by another.');
      return;
    case 'completeFromTask':
      await completeFromTask(deps, effect.task, effect.turn);
      return;
  }
};

type TurnEffectOf<D extends TurnEffect['do']> = Extract<TurnEffect, { do: D }>;

const recordLease = async (
  { records, newId }: Deps,
  { project, turn, agent, epoch, at }: TurnEffectOf<'recordLease'>,
): Promise<void> => {
  const set = { state: 'leased', agent, epoch, leasedAt: at };
  const change = { if: equals('state', 'queued'), set, unset: ['due', 'isForGroup'] };
  await records.update(turnRef(project, turn), change, newId());
};

/** Steps are kept for as long as a turn may take and be looked at. */
const STEP_RETENTION_MS = 30 * 86_400_000;

const putStep = async (
  { records, newId }: Deps,
  { project, turn, number, step }: TurnEffectOf<'putStep'>,
): Promise<void> => {
  const newer = or(notExists('number'), lessThan('number', number));
  const set = { number, step, expires: step.at + STEP_RETENTION_MS };
  await records.update(stepRef(project, turn, number), { if: newer, set }, newId(), 'orCreate');
};

const wakeIfQueued = async (deps: Deps, { project, agent, cause, at }: TurnEffectOf<'wakeIfQueued'>): Promise<void> => {
  const [own] = await deps.records.query<QueuedTurn>({
    pk: agentTurnsPk(project, agent),
    prefix: QUEUED_PREFIX,
    limit: 1,
  });
  const known = own ? undefined : await deps.directory.getAgent(project, agent);
  const next = own ?? (known && (await findOldestGroupTurn(deps, known.agent)));
  if (!next) return;
  const { channel, depth, traceparent, tracestate } = next;
  const about = { project, channel, depth, traceparent, tracestate };
  await sendWakeup(deps, { cause, at, target: agent, inboxId: next.correlation, reason: 'enqueue', context: about });
};
