import type { Deps } from '../../identity/deps.ts';
import type { TurnEnd } from '../../model/agent-state.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { notExists } from '../../ports/conditions.ts';
import type { WriteResult } from '../../ports/records.ts';
import { createDeliverableCard } from './result-cards.ts';

/** Ends the turn's record, which publishes its end event. Idempotent. */
export const endTurn = async (
  deps: Deps,
  turn: Pick<Turn, 'project' | 'id' | 'agent'>,
  end: TurnEnd,
  steps?: number,
): Promise<WriteResult<Turn>> => {
  const { project, id, agent } = turn;
  const deliverable = end.deliverable ?? (await createDeliverableCard(deps, turn, end));
  const set = {
    state: 'ended',
    agent,
    steps,
    end: { ...end, deliverable },
    expires: end.at + deps.config.turns.retentionMs,
  };
  const change = { if: notExists('end'), set, unset: ['due', 'isForGroup'] };
  return deps.records.update(turnRef(project, id), change, deps.newId());
};
