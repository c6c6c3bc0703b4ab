import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { agentStateRef, type TurnEnd } from '../../model/agent-state.ts';
import { queuedTurnKey, type Turn, turnRef } from '../../model/turn.ts';
import { equals, exists } from '../../ports/conditions.ts';
import { canReadAgentState } from '../queries/get-turn.ts';
import { type TurnHolder, updateAgentState } from './advance-turn.ts';
import { endTurn } from './end-turn.ts';
import { createDeliverableCard } from './result-cards.ts';
import { staleTurnError } from './rules.ts';
import { buildCanceledEnd, buildStopTransition } from './transitions.ts';

/** Who stops a turn, and the agent that it names: it may know the lease of a group turn before the record does. */
interface StopRequester {
  caller?: Caller;
  agent?: string;
}

/** Whatever the worker does. A queued turn has the epoch 0. */
export const stopTurn = async (
  deps: Deps,
  turn: Turn,
  epoch: number,
  reason?: string,
  { caller, agent = turn.agent }: StopRequester = {},
): Promise<{ duplicate: boolean }> => {
  const end = buildCanceledEnd(deps.clock.now(), reason);
  const holder: TurnHolder = { project: turn.project, agent, turn: turn.id, epoch };
  if (turn.isRunAsTask || epoch === 0) {
    if (agent !== turn.agent) throw staleTurnError(holder);
    return turn.isRunAsTask ? stopTurnAsTask(deps, turn, epoch, end) : stopQueuedTurn(deps, turn, reason);
  }
  return updateAgentState(
    deps,
    holder,
    buildStopTransition(holder, end, (head) => caller !== undefined && canReadAgentState(caller, head)),
    ({ last }) => last?.turn === turn.id && last.epoch === epoch && last.errorCode === end.errorCode,
  );
};

/** The end of the turn cancels its task, which may not exist yet. */
const stopTurnAsTask = async (deps: Deps, turn: Turn, epoch: number, end: TurnEnd): Promise<{ duplicate: boolean }> => {
  const { id } = turn;
  if (epoch !== 0) throw staleTurnError({ turn: id, epoch });
  const done = await endTurn(deps, turn, end);
  if (done.outcome === 'written') return { duplicate: false };
  if (done.existing?.end?.errorCode === end.errorCode) return { duplicate: true };
  throw staleTurnError({ turn: id, epoch });
};

/** Removed and ended in one transaction: a concurrent lease wins. */
const stopQueuedTurn = async (deps: Deps, turn: Turn, reason?: string): Promise<{ duplicate: boolean }> => {
  const now = deps.clock.now();
  const end = buildCanceledEnd(now, reason);
  if (turn.end?.errorCode === end.errorCode) return { duplicate: true };
  const deliverable = await createDeliverableCard(deps, turn, end);
  const done = await deps.records.transact(
    [
      { kind: 'remove', key: queuedTurnKey(turn), if: exists('turn') },
      {
        kind: 'update',
        key: turnRef(turn.project, turn.id),
        change: {
          if: equals('state', 'queued'),
          set: { state: 'ended', end: { ...end, deliverable }, expires: now + deps.config.turns.retentionMs },
          unset: ['due'],
        },
      },
    ],
    deps.newId(),
  );
  if (done.outcome === 'written') return { duplicate: false };
  const current = await deps.records.get(turnRef(turn.project, turn.id));
  if (current?.end?.errorCode === end.errorCode) return { duplicate: true };
  throw staleTurnError({ turn: turn.id, epoch: 0 });
};

/** The lease may be changing. */
const STOP_RETRIES = { attempts: 3 };

/** Idempotent. */
export const forceStop = async (deps: Deps, project: string, id: string, reason: string): Promise<void> => {
  await retryOnConflict(`the turn ${id}`, STOP_RETRIES, async () => {
    const turn = await deps.records.get(turnRef(project, id));
    if (!turn || turn.end) return 'ended';
    const head = turn.isForGroup ? undefined : await deps.records.get(agentStateRef(project, turn.agent));
    const epoch = head?.turn === id ? head.epoch : 0;
    try {
      return await stopTurn(deps, turn, epoch, reason);
    } catch (error) {
      if (!(error instanceof ParleyError && error.code === 'stale_turn')) throw error;
      // It has ended, or its record does not know of its lease yet.
      return head?.last?.turn === id ? 'ended' : undefined;
    }
  });
};
