import type { Deps } from '../deps.ts';
import { absent, any, below, is } from '../ports/conditions.ts';
import { answerWithBatch, answerWithTask, answerWithTurn } from './answer-call.ts';
import { ring } from './bells.ts';
import { vouched } from './deliverable.ts';
import { endTurn } from './end-turn.ts';
import { queuedForGroups } from './group-queues.ts';
import { cancelHanded, handOver, takeBack } from './hand-over.ts';
import { turnsPk } from './head.ts';
import { cancelCall, settleCall } from './settle.ts';
import { stopWhatever } from './stop.ts';
import { endTask, renewTask } from './tell-task.ts';
import { QUEUED, type QueuedTurn, stepRef, turnRef } from './turn.ts';
import type { TurnEffect } from './turn-effect.ts';
import { endAction } from './ui-action.ts';

/** Carries out what follows from a change of a head or a turn. It may come again, and late: every write says what it must find. */
export const carryOutTurn = async (deps: Deps, effect: TurnEffect): Promise<void> => {
  switch (effect.do) {
    case 'lease':
      await noteLease(deps, effect);
      return;
    case 'finish':
      await endTurn(
        deps,
        { ...effect, id: effect.turn },
        await vouched(deps, effect.project, effect.end),
        effect.steps,
      );
      return;
    case 'keepStep':
      await keepStep(deps, effect);
      return;
    case 'ring':
      await ring(deps, effect.bell);
      return;
    case 'ringIfQueued':
      await ringIfQueued(deps, effect);
      return;
    case 'record':
      await deps.records.create(
        { ...effect.edge, expires: effect.edge.happenedAt + deps.config.turns.keepMs },
        deps.newId(),
      );
      return;
    case 'settleCall':
      await settleCall(deps, effect.project, effect.turn, effect.toolCall, effect.report);
      return;
    case 'cancelCall':
      await cancelCall(deps, effect.project, effect.turn, effect.toolCall);
      return;
    case 'reportTask':
      await answerWithTask(deps, effect.task, effect.call);
      return;
    case 'reportTurn':
      await answerWithTurn(deps, effect.turn, effect.call, effect.end);
      return;
    case 'reportBatch':
      await answerWithBatch(deps, effect.batch, effect.call);
      return;
    case 'handOver':
      await handOver(deps, effect.turn);
      return;
    case 'endTask':
      await endTask(deps, effect.turn, effect.end);
      return;
    case 'renewTask':
      await renewTask(deps, effect);
      return;
    case 'endAction':
      await endAction(deps, effect.project, effect.action, effect.end);
      return;
    case 'cancelHanded':
      await cancelHanded(deps, { project: effect.project, id: effect.turn });
      return;
    case 'stopWork':
      await stopWhatever(
        deps,
        effect.project,
        effect.turn,
        'The task that it works on has ended, or is done by another.',
      );
      return;
    case 'takeBack':
      await takeBack(deps, effect.task, effect.turn);
      return;
  }
};

type Of<D extends TurnEffect['do']> = Extract<TurnEffect, { do: D }>;

const noteLease = async ({ records, newId }: Deps, { project, turn, agent, epoch, at }: Of<'lease'>): Promise<void> => {
  const set = { state: 'leased', agent, epoch, leasedAt: at };
  const change = { if: is('state', 'queued'), set, unset: ['due', 'isForGroup'] };
  await records.update(turnRef(project, turn), change, newId());
};

/** Steps are kept for as long as a turn may take and be looked at. */
const STEP_KEPT_MS = 30 * 86_400_000;

const keepStep = async ({ records, newId }: Deps, { project, turn, number, step }: Of<'keepStep'>): Promise<void> => {
  const newer = any(absent('number'), below('number', number));
  const set = { number, step, expires: step.at + STEP_KEPT_MS };
  await records.update(stepRef(project, turn, number), { if: newer, set }, newId(), 'orCreate');
};

const ringIfQueued = async (deps: Deps, { project, agent, cause, at }: Of<'ringIfQueued'>): Promise<void> => {
  const [own] = await deps.records.query<QueuedTurn>({ p: turnsPk(project, agent), prefix: QUEUED, limit: 1 });
  const known = own ? undefined : await deps.directory.agent(project, agent);
  const next = own ?? (known && (await queuedForGroups(deps, known.agent)));
  if (!next) return;
  const { channel, depth, traceparent, tracestate } = next;
  const about = { project, channel, depth, traceparent, tracestate };
  await ring(deps, { cause, at, target: agent, inboxId: next.correlation, reason: 'enqueue', about });
};
